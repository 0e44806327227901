import CNetlink
import CleanSlate
import Glibc
import Testing

@testable import Reachability

/// The filter's program, run by an interpreter of the few instructions it is made of.
@Suite(.leavesNothing) struct RouteFilterTests {
    /// What a socket with this program would be given of a message: all of it, or nothing. Nil for a program that goes astray.
    private func admits(_ program: [sock_filter], _ message: [UInt8]) -> Bool? {
        var (accumulator, index, memory, counter) = (UInt32(0), UInt32(0), [UInt32](repeating: 0, count: 16), 0)
        func load(_ offset: Int, _ count: Int) -> UInt32? {
            guard offset >= 0, offset + count <= message.count else { return nil }
            return message[offset..<offset + count].reduce(0) { $0 << 8 | UInt32($1) }
        }
        while program.indices.contains(counter) {
            let step = program[counter]
            counter += 1
            let value = Int(step.k)
            switch step.code {
            case 0x20 where step.k == UInt32(bitPattern: -0x1000 + 12): accumulator = find(message, from: Int(accumulator), type: index)
            case 0x28: accumulator = load(value, 2) ?? 0
            case 0x30: accumulator = load(value, 1) ?? 0
            case 0x40: accumulator = load(value + Int(index), 4) ?? 0
            case 0x00: accumulator = step.k
            case 0x60: accumulator = memory[value]
            case 0x01: index = step.k
            case 0x61: index = memory[value]
            case 0x02: memory[value] = accumulator
            case 0x07: index = accumulator
            case 0x1c: accumulator &-= index
            case 0xa4: accumulator ^= step.k
            case 0x7c: accumulator >>= index
            case 0x05: counter += value
            case 0x15: counter += Int(accumulator == step.k ? step.jt : step.jf)
            case 0x25: counter += Int(accumulator > step.k ? step.jt : step.jf)
            case 0x06: return step.k != 0
            default: return nil
            }
        }
        return nil
    }

    private func find(_ message: [UInt8], from start: Int, type: UInt32) -> UInt32 {
        message.withUnsafeBytes { bytes in
            var offset = start
            while let length = bytes.value(at: offset, as: UInt16.self), let found = bytes.value(at: offset + 2, as: UInt16.self),
                length >= 4
            {
                if UInt32(found) == type { return UInt32(offset) }
                offset += (Int(length) + 3) & ~3
            }
            return 0
        }
    }

    private func route(_ text: String, type: Int = Int(RTM_NEWROUTE)) throws -> [UInt8] {
        let parts = text.split(separator: "/")
        let (address, length) = (try #require(IPAddress(parts[0])), try #require(UInt8(parts[1])))
        var message = NetlinkRequest(type: type, flags: 0, sequence: 0)
        for byte in [address.systemFamily, length, 0, 0, 254, 4, 0, 1] { message.append(byte) }
        message.append(UInt32(0))
        // The kernel puts the table first.
        message.append(attribute: Int(RTA_TABLE.rawValue), UInt32(254))
        if length > 0 { message.append(attribute: Int(RTA_DST.rawValue), address.bytes) }
        message.append(attribute: Int(RTA_OIF.rawValue), UInt32(2))
        return message.finished()
    }

    private let program = RouteFilter.program(
        Set(["198.41.0.4", "10.0.0.53", "2001:503:ba3e::2:30", "fd00::1"].compactMap { IPAddress($0) }))

    @Test(arguments: [
        "0.0.0.0/0", "128.0.0.0/1", "::/0", "2000::/3", "198.41.0.4/32", "198.41.0.0/16", "192.0.0.0/5", "10.0.0.52/31", "2001:503::/32",
        "2001:500::/24", "2001:503:ba3e::/48", "2001:503:ffff::/64", "fc00::/7", "fd00::1/128",
    ])
    func whatMayDecideAnAnswerIsLetThrough(_ text: String) throws {
        for type in [Int(RTM_NEWROUTE), Int(RTM_DELROUTE)] {
            let verdict = admits(program, try route(text, type: type))
            #expect(verdict == true)
        }
    }

    @Test(arguments: [
        "11.0.0.0/30", "198.40.0.0/16", "198.41.0.5/32", "10.0.0.54/31", "208.0.0.0/4", "2001:db8::/32", "2001:504::/32", "3000::/4",
        "fe80::/64",
        "fd01::1/128",
    ])
    func whatCannotIsKeptAway(_ text: String) throws {
        for type in [Int(RTM_NEWROUTE), Int(RTM_DELROUTE)] {
            let verdict = admits(program, try route(text, type: type))
            #expect(verdict == false)
        }
    }

    @Test func whatIsNoRouteIsLetThrough() throws {
        let verdict = admits(program, try route("11.0.0.0/30", type: Int(RTM_NEWRULE)))
        #expect(verdict == true)
    }

    /// For any route and any set of addresses: let through where its prefix, or the first 32 bits of it, holds one of them.
    @Test func itAgreesWithItsDefinition() throws {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<2_000 {
            let isSixth = Bool.random(using: &random)
            func address() -> IPAddress? {
                IPAddress(
                    bytes: (0..<(isSixth ? 16 : 4)).map {
                        $0 < 2 ? UInt8.random(in: 0...3, using: &random) << 6 : UInt8.random(in: 0...255, using: &random)
                    })
            }
            let addresses = Set((0..<Int.random(in: 0...RouteInterests.most, using: &random)).compactMap { _ in address() })
            let destination = try #require(address())
            let length = Int.random(in: 4...(isSixth ? 128 : 32), using: &random)
            let compared = min(length, 32)
            func start(_ address: IPAddress) -> UInt32 {
                address.bytes.prefix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) } >> UInt32(32 - compared)
            }
            let verdict = admits(RouteFilter.program(addresses), try route("\(destination)/\(length)"))
            let expected = addresses.contains { start($0) == start(destination) }
            #expect(verdict == expected, "\(destination)/\(length) among \(addresses)")
        }
    }

    @Test func tooManyAddressesMeanEveryRoute() {
        let many = (0..<100).map { IPAddress(10, 0, 0, UInt8($0)) }
        #expect(RouteInterests(many) == .every)
        #expect(RouteInterests(many.prefix(64)) == .addresses(Set(many.prefix(64))))
        #expect(RouteInterests(many.prefix(3) + many.prefix(3)) == .addresses(Set(many.prefix(3))))
        let (few, some) = (RouteInterests(many.prefix(2)), RouteInterests(many.prefix(4)))
        let answers = [
            some.wantsMore(than: few), few.wantsMore(than: some), RouteInterests.every.wantsMore(than: few), few.wantsMore(than: .every),
        ]
        #expect(answers == [true, false, true, false])
    }
}
