import CNetlink
import CleanSlate
import Foundation
import Testing

@testable import Reachability

/// Dumps during which the kernel's tables changed, from a kernel of the test's own at the other end of a socket pair.
@Suite(.leavesNothing, .timeLimit(.minutes(5))) struct TornDumpTests {
    /// One answer to a dump: which links or addresses it holds, and where it is torn.
    private struct Answer {
        enum Tear { case nowhere, inAPart, atTheEnd, error(Int32) }
        var parts: [[UInt8]]
        var tear = Tear.nowhere
    }

    /// Answers dumps from a script, the last answer again and again, and counts them.
    private final class ScriptedKernel: @unchecked Sendable {
        // Safety: the script and the counts belong to the serving thread; the test reads the counts after it has joined that.
        private var links: [Answer]
        private var addresses: [Answer]
        private(set) var dumps = 0
        private let descriptor: Int32
        private let ended = DispatchSemaphore(value: 0)

        init(_ descriptor: Int32, links: [Answer], addresses: [Answer]) {
            (self.descriptor, self.links, self.addresses) = (descriptor, links, addresses)
            Thread { [self] in
                while serve() {}
                close(descriptor)
                ended.signal()
            }.start()
        }

        func join() { ended.wait() }

        private func serve() -> Bool {
            var request = [UInt8](repeating: 0, count: 4_096)
            let count = recv(descriptor, &request, request.count, 0)
            guard count >= NetlinkMessage.headerSize else { return false }
            let (type, sequence) = request.withUnsafeBytes { bytes in
                (bytes.value(at: 4, as: UInt16.self) ?? 0, bytes.value(at: 8, as: UInt32.self) ?? 0)
            }
            dumps += 1
            let isLinks = Int32(type) == Int32(RTM_GETLINK)
            let answer = isLinks ? links[0] : addresses[0]
            if isLinks, links.count > 1 { links.removeFirst() }
            if !isLinks, addresses.count > 1 { addresses.removeFirst() }
            send(answer, sequence)
            return true
        }

        private func send(_ answer: Answer, _ sequence: UInt32) {
            var (flags, endFlags) = (Int(NLM_F_MULTI), Int(NLM_F_MULTI))
            switch answer.tear {
            case .nowhere: break
            case .inAPart: flags |= Int(NLM_F_DUMP_INTR)
            case .atTheEnd: endFlags |= Int(NLM_F_DUMP_INTR)
            case .error(let code):
                var message = NetlinkRequest(type: Int(NLMSG_ERROR), flags: 0, sequence: sequence)
                message.append(-code)
                return transmit(message.finished())
            }
            // What answers an earlier question is not part of this dump, torn or not.
            transmit(Self.stamped(TornDumpTests.link(99, "stale"), sequence &- 1, Int(NLM_F_DUMP_INTR)))
            for (number, part) in answer.parts.enumerated() {
                transmit(Self.stamped(part, sequence, number == 0 ? flags : Int(NLM_F_MULTI)))
            }
            if answer.parts.isEmpty { endFlags |= flags }
            var end = NetlinkRequest(type: Int(NLMSG_DONE), flags: endFlags, sequence: sequence)
            end.append(Int32(0))
            transmit(end.finished())
        }

        private func transmit(_ bytes: [UInt8]) { _ = Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) }

        private static func stamped(_ message: [UInt8], _ sequence: UInt32, _ flags: Int) -> [UInt8] {
            var message = message
            withUnsafeBytes(of: UInt16(flags)) { message.replaceSubrange(6..<8, with: $0) }
            withUnsafeBytes(of: sequence) { message.replaceSubrange(8..<12, with: $0) }
            return message
        }
    }

    private static func link(_ index: UInt32, _ name: String) -> [UInt8] {
        var message = NetlinkRequest(type: Int(RTM_NEWLINK), flags: 0, sequence: 0)
        message.append(UInt32(1) << 16)
        message.append(index)
        message.append(UInt32(0x11043))
        message.append(UInt32(0))
        message.append(attribute: Int(IFLA_IFNAME), Array(name.utf8) + [0])
        message.append(attribute: Int(IFLA_OPERSTATE), [6])
        return message.finished()
    }

    private static func address(_ text: String, on index: UInt32) -> [UInt8] {
        var message = NetlinkRequest(type: Int(RTM_NEWADDR), flags: 0, sequence: 0)
        for byte in [UInt8(AF_INET), 24, 0x80, 0] { message.append(byte) }
        message.append(index)
        message.append(attribute: Int(IFA_LOCAL), IPAddress(text)?.bytes ?? [])
        return message.finished()
    }

    private static let whole = Answer(parts: [link(1, "lo"), link(2, "eth0")])
    private static let addresses = Answer(parts: [address("10.0.0.1", on: 2)])

    /// Loads a table from such a kernel.
    ///
    /// - Returns: whether it was complete, the names of its links, its addresses, and how many dumps it took.
    private func load(links: [Answer], addresses: [Answer]) throws -> (isComplete: Bool?, names: [String], addresses: Int, dumps: Int) {
        var ends: [Int32] = [0, 0]
        guard socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw CommandFailure("socketpair")
        }
        let scripted = ScriptedKernel(ends[1], links: links, addresses: addresses)
        var isComplete: Bool?
        var table = InterfaceTable()
        do {
            let queries = NetlinkQuerySocket(NetlinkSocket(adopting: ends[0]))
            let kernel = NetlinkKernel(classifier: InterfaceClassifier(usesSysfs: false), queries: queries)
            isComplete = try? kernel.load()
            table = kernel.table
        }
        scripted.join()
        return (isComplete, table.links.values.map(\.name).sorted(), table.addresses.count, scripted.dumps)
    }

    @Test func aWholeDumpIsTakenOnce() throws {
        let result = try load(links: [Self.whole], addresses: [Self.addresses])
        #expect(result.isComplete == true && result.dumps == 2)
        #expect(result.names == ["eth0", "lo"] && result.addresses == 1, "and nothing stale")
    }

    @Test func aTornDumpIsDoneAgain() throws {
        // The tear hides eth0.
        let torn = [Answer(parts: [Self.link(1, "lo")], tear: .inAPart), Answer(parts: [Self.link(1, "lo")], tear: .atTheEnd)]
        for tear in torn {
            let result = try load(links: [tear, Self.whole], addresses: [Self.addresses])
            #expect(result.isComplete == true && result.names == ["eth0", "lo"] && result.addresses == 1)
            #expect(result.dumps == 4, "links and addresses belong together")
        }
    }

    @Test func aTornDumpOfAddressesIsDoneAgainToo() throws {
        let torn = Answer(parts: [], tear: .atTheEnd)
        let result = try load(links: [Self.whole], addresses: [torn, torn, Self.addresses])
        #expect(result.isComplete == true && result.addresses == 1 && result.dumps == 6)
    }

    @Test func whatIsTornAgainAndAgainIsTakenAsFarAsItGoesAndLeftForLater() throws {
        let result = try load(links: [Answer(parts: Self.whole.parts, tear: .inAPart)], addresses: [Self.addresses])
        #expect(result.isComplete == false && result.names == ["eth0", "lo"] && result.dumps == 10)
    }

    @Test func aKernelThatIsBusyWithAnotherDumpIsAskedAgain() throws {
        let result = try load(links: [Answer(parts: [], tear: .error(EBUSY)), Self.whole], addresses: [Self.addresses])
        #expect(result.isComplete == true && result.names == ["eth0", "lo"])
    }

    @Test func anErrorIsAnError() throws {
        let result = try load(links: [Answer(parts: [], tear: .error(EPERM))], addresses: [Self.addresses])
        #expect(result.isComplete == nil && result.names.isEmpty && result.dumps == 1)
    }
}

/// The same with the real kernel, whose tables change as it dumps them.
@Suite(.leavesNothing, .enabled(if: TestNetwork.isAvailable, TestNetwork.obstacle ?? ""), .serialized, .timeLimit(.minutes(5)))
struct ChurnTests {
    @Test func amidChangesTheTableEndsRight() async throws {
        try await TestNetwork.run(.dual) { network in
            network.skipDuplicateDetection()
            var lines: [String] = []
            for number in 0..<100 { lines += ["link add c\(number) type veth peer name d\(number)", "link set c\(number) up"] }
            try network.batch(lines)
            let kernel = try NetlinkKernel(classifier: InterfaceClassifier(usesSysfs: false))
            let churn = (0..<300).map { round in
                "addr \(round % 2 == 0 ? "add" : "del") 10.77.\(round / 2 % 100).1/24 dev c\(round / 2 % 100)"
            }
            let process = BackgroundBatch(churn + (0..<50).flatMap { ["link del c\($0)"] } + ["addr add 10.78.0.1/24 dev c99"])
            var (loads, incomplete) = (0, 0)
            while !process.hasEnded {
                if try !kernel.load() { incomplete += 1 }
                loads += 1
            }
            let isComplete = try kernel.load()
            let expected = Set((50..<100).flatMap { ["c\($0)", "d\($0)"] } + ["lo"])
            let table = kernel.table
            let names = Set(table.links.values.map(\.name))
            #expect(isComplete)
            #expect(names == expected, "\(names.symmetricDifference(expected))")
            let last = table.addresses.values.contains { $0.address == IPAddress(10, 78, 0, 1) }
            #expect(last)
            print("churn: \(loads) loads amid changes, \(kernel.tornDumps) dumps torn, \(incomplete) loads left for later")
        }
    }
}
