import CNetlink
import Glibc
import SystemSupport

/// A netlink route socket and how to read it. Owned by one thread, or used under a lock.
struct NetlinkSocket: ~Copyable {
    let descriptor: Int32

    enum Received {
        case datagram(UnsafeRawBufferPointer)
        case empty
        /// The kernel dropped messages, and goes on dropping until the queue is empty.
        case overrun
        case failed(Int32)
    }

    init(groups: UInt32 = 0, memberships: [Int32] = [], isBlocking: Bool = false) throws(SystemFailure) {
        let flags = Int32(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue) | (isBlocking ? 0 : Int32(SOCK_NONBLOCK.rawValue))
        descriptor = socket(AF_NETLINK, flags, Int32(NETLINK_ROUTE))
        guard descriptor >= 0 else { throw SystemFailure("socket(AF_NETLINK)") }
        var address = sockaddr_nl()
        address.nl_family = sa_family_t(AF_NETLINK)
        address.nl_groups = groups
        let bound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, UInt32(MemoryLayout<sockaddr_nl>.size)) }
        }
        guard bound == 0 else { throw SystemFailure("bind(AF_NETLINK)") }
        // A kernel without a group has nothing to say about it.
        for group in memberships { set(SOL_NETLINK, Int32(NETLINK_ADD_MEMBERSHIP), group) }
        if isBlocking {
            // Answers come within the call that asks; this is for a kernel that is none, and stays silent.
            var limit = timeval(tv_sec: 1, tv_usec: 0)
            setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, UInt32(MemoryLayout<timeval>.size))
        }
    }

    /// Takes over what something else made, a test's own kernel for instance.
    init(adopting descriptor: Int32) { self.descriptor = descriptor }

    deinit { if descriptor >= 0 { Glibc.close(descriptor) } }

    @discardableResult
    borrowing func set(_ level: Int32, _ name: Int32, _ value: Int32) -> Bool {
        var value = value
        return setsockopt(descriptor, level, name, &value, UInt32(MemoryLayout<Int32>.size)) == 0
    }

    borrowing func setReceiveBuffer(_ bytes: Int32) {
        if !set(SOL_SOCKET, CNL_RCVBUFFORCE, bytes) { set(SOL_SOCKET, SO_RCVBUF, bytes) }
    }

    /// The next datagram that comes from the kernel itself.
    borrowing func receive(into buffer: UnsafeMutableRawBufferPointer) -> Received {
        while true {
            var sender = sockaddr_nl()
            var size = UInt32(MemoryLayout<sockaddr_nl>.size)
            let count = withUnsafeMutablePointer(to: &sender) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    recvfrom(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_TRUNC), $0, &size)
                }
            }
            if count < 0 {
                switch errno {
                case EINTR: continue
                case EAGAIN: return .empty
                case ENOBUFS: return .overrun
                default: return .failed(errno)
                }
            }
            // Any process may send to a netlink socket.
            if sender.nl_pid != 0 { continue }
            if count > buffer.count { return .overrun }
            return .datagram(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        }
    }

    borrowing func send(_ bytes: [UInt8]) -> Int32 {
        while true {
            if Glibc.send(descriptor, bytes, bytes.count, 0) >= 0 { return 0 }
            if errno != EINTR { return errno }
        }
    }
}

let SOL_NETLINK: Int32 = 270

extension SystemFailure {
    /// Netlink is not to be had here, which is no lack of descriptors or memory.
    var meansRefused: Bool { [EAFNOSUPPORT, EPERM, EACCES, EOPNOTSUPP, EPROTONOSUPPORT, ENOSYS].contains(code) }

    /// No descriptor, memory or thread is left, or nobody answered in time: that says nothing about what was asked.
    var meansShortage: Bool { [EMFILE, ENFILE, ENOMEM, ENOBUFS, EAGAIN, ETIMEDOUT].contains(code) }
}
