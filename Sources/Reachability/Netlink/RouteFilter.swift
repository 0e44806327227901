import CNetlink
import Glibc

/// A classic BPF program that lets through only routes that may decide an answer: whatever could be a default, 0.0.0.0/0, 0.0.0.0/1 and
/// 2000::/3 among them, and whatever leads to an address somebody asks about.
///
/// It runs in the kernel, where a storm of a hundred thousand other routes then costs this process nothing.
enum RouteFilter {
    static func attach(to socket: borrowing NetlinkSocket, _ addresses: Set<IPAddress>) -> Bool {
        var program = program(addresses)
        let count = UInt16(program.count)
        return program.withUnsafeMutableBufferPointer { instructions in
            var filter = sock_fprog(len: count, filter: instructions.baseAddress)
            return setsockopt(socket.descriptor, SOL_SOCKET, CNL_ATTACH_FILTER, &filter, UInt32(MemoryLayout<sock_fprog>.size)) == 0
        }
    }

    static func detach(from socket: borrowing NetlinkSocket) { socket.set(SOL_SOCKET, CNL_DETACH_FILTER, 0) }

    // MARK: The program

    /// Instructions of classic BPF, named as in bpf_asm(1).
    private enum Code {
        static let loadWord: UInt16 = 0x20
        static let loadHalf: UInt16 = 0x28
        static let loadByte: UInt16 = 0x30
        static let loadWordAtIndex: UInt16 = 0x40
        static let loadConstant: UInt16 = 0x00
        static let loadMemory: UInt16 = 0x60
        static let loadIndexConstant: UInt16 = 0x01
        static let loadIndexMemory: UInt16 = 0x61
        static let store: UInt16 = 0x02
        static let copyToIndex: UInt16 = 0x07
        static let subtractIndex: UInt16 = 0x1c
        static let xor: UInt16 = 0xa4
        static let shiftRightByIndex: UInt16 = 0x7c
        static let jump: UInt16 = 0x05
        static let jumpIfEqual: UInt16 = 0x15
        static let jumpIfGreater: UInt16 = 0x25
        static let give: UInt16 = 0x06
    }

    /// SKF_AD_OFF + SKF_AD_NLATTR of linux/filter.h: the offset of the attribute in X, searched for from the offset in A on; 0 without one.
    private static let findAttribute = UInt32(bitPattern: -0x1000 + 12)

    static func program(_ addresses: Set<IPAddress>) -> [sock_filter] {
        let fourth = comparisons(addresses.filter { $0.family == .v4 })
        let sixth = comparisons(addresses.filter { $0.family == .v6 })
        return prologue + [step(Code.jumpIfEqual, UInt32(AF_INET), skipUnless: 0, skipIf: 1), step(Code.jump, UInt32(fourth.count))]
            + fourth + sixth
    }

    private static func step(_ code: UInt16, _ value: UInt32 = 0, skipUnless: UInt8 = 0, skipIf: UInt8 = 0) -> sock_filter {
        sock_filter(code: code, jt: skipIf, jf: skipUnless, k: value)
    }

    private static let giveAll = step(Code.give, .max)
    private static let giveNothing = step(Code.give, 0)

    /// Lets through what is no route, could be a default, or has no destination. What comes after it finds the family in A, in X how many of
    /// the destination's first 32 bits are not part of the prefix, and these bits in M[1].
    private static let prologue: [sock_filter] = [
        // Half words are loaded big-endian, and the type is in the host's order.
        step(Code.loadHalf, 4),
        step(Code.jumpIfEqual, UInt32(UInt16(RTM_NEWROUTE).bigEndian), skipIf: 2),
        step(Code.jumpIfEqual, UInt32(UInt16(RTM_DELROUTE).bigEndian), skipIf: 1),
        giveAll,
        // The length of the destination's prefix.
        step(Code.loadByte, 17),
        step(Code.jumpIfGreater, UInt32(Route.longestDefaultPrefix), skipIf: 1),
        giveAll,
        // A longer one is compared as far as its first 32 bits go: one route too many does no harm.
        step(Code.jumpIfGreater, 32, skipUnless: 1),
        step(Code.loadConstant, 32),
        step(Code.copyToIndex),
        step(Code.loadConstant, 32),
        step(Code.subtractIndex),
        step(Code.store, 0),
        // The attributes begin behind the headers, of 16 and 12 bytes.
        step(Code.loadIndexConstant, UInt32(RTA_DST.rawValue)),
        step(Code.loadConstant, 28),
        step(Code.loadWord, findAttribute),
        step(Code.jumpIfEqual, 0, skipUnless: 1),
        giveAll,
        step(Code.copyToIndex),
        step(Code.loadWordAtIndex, 4),
        step(Code.store, 1),
        step(Code.loadIndexMemory, 0),
        step(Code.loadByte, 16),
    ]

    private static func comparisons(_ addresses: some Sequence<IPAddress>) -> [sock_filter] {
        let starts = Set(addresses.map { $0.bytes.prefix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) } }).sorted()
        let steps = starts.flatMap { start in
            [
                step(Code.loadMemory, 1), step(Code.xor, start), step(Code.shiftRightByIndex),
                step(Code.jumpIfEqual, 0, skipUnless: 1), giveAll,
            ]
        }
        return steps + [giveNothing]
    }
}
