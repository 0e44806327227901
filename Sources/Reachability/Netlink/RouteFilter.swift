import CNetlink
import Glibc

/// A classic BPF program that lets through only routes that could be a default: 0.0.0.0/0, 0.0.0.0/1 and 2000::/3 among them.
///
/// It runs in the kernel, where a storm of a hundred thousand other routes then costs this process nothing.
enum RouteFilter {
    static func attach(to socket: borrowing NetlinkSocket) -> Bool {
        // Half words are loaded big-endian, and the type is in the host's order.
        let new = UInt32(UInt16(RTM_NEWROUTE).bigEndian)
        let deleted = UInt32(UInt16(RTM_DELROUTE).bigEndian)
        let loadHalf: UInt16 = 0x28
        let loadByte: UInt16 = 0x30
        let jumpIfEqual: UInt16 = 0x15
        let jumpIfGreater: UInt16 = 0x25
        let give: UInt16 = 0x06
        var program = [
            sock_filter(code: loadHalf, jt: 0, jf: 0, k: 4),
            sock_filter(code: jumpIfEqual, jt: 1, jf: 0, k: new),
            sock_filter(code: jumpIfEqual, jt: 0, jf: 3, k: deleted),
            // The length of the destination's prefix.
            sock_filter(code: loadByte, jt: 0, jf: 0, k: 17),
            sock_filter(code: jumpIfGreater, jt: 0, jf: 1, k: UInt32(PathEvaluator.longestDefaultPrefix)),
            sock_filter(code: give, jt: 0, jf: 0, k: 0),
            sock_filter(code: give, jt: 0, jf: 0, k: .max),
        ]
        let count = UInt16(program.count)
        return program.withUnsafeMutableBufferPointer { instructions in
            var filter = sock_fprog(len: count, filter: instructions.baseAddress)
            return setsockopt(socket.descriptor, SOL_SOCKET, CNL_ATTACH_FILTER, &filter, UInt32(MemoryLayout<sock_fprog>.size)) == 0
        }
    }

    static func detach(from socket: borrowing NetlinkSocket) { socket.set(SOL_SOCKET, CNL_DETACH_FILTER, 0) }
}
