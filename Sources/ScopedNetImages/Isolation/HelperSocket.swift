#if Images
import Glibc
import SystemSupport

/// One end of the socket between a program and its helper. It is used by one thread at a time.
struct HelperSocket: ~Copyable {
    let descriptor: Int32

    /// Makes both ends, which are closed in other children.
    static func makePair() throws(SystemFailure) -> (ours: Int32, theirs: Int32) {
        var ends: (Int32, Int32) = (-1, -1)
        let kind = Int32(SOCK_SEQPACKET.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        // Safety: a pair of integers is laid out as an array of two.
        let code = withUnsafeMutableBytes(of: &ends) { socketpair(AF_UNIX, kind, 0, $0.baseAddress?.assumingMemoryBound(to: Int32.self)) }
        guard code == 0 else { throw SystemFailure("socketpair") }
        return ends
    }

    deinit { close(descriptor) }

    /// A control message with two descriptors, as cmsg(3) lays it out on machines of 64 bits.
    private struct Rights {
        var length = MemoryLayout<Rights>.size
        var level = SOL_SOCKET
        /// SCM_RIGHTS.
        var type: Int32 = 1
        var file: Int32
        var pixels: Int32
    }

    /// Sends a request. Returns false where there is no helper any more.
    func send(_ words: [UInt64], file: Int32, pixels: Int32) -> Bool {
        var rights = Rights(file: file, pixels: pixels)
        return words.withUnsafeBytes { bytes in
            withUnsafeMutableBytes(of: &rights) { control in
                // Safety: sendmsg(2) reads both buffers, and returns before they end.
                var piece = iovec(iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress), iov_len: bytes.count)
                return withUnsafeMutablePointer(to: &piece) { piece in
                    var message = msghdr()
                    (message.msg_iov, message.msg_iovlen) = (piece, 1)
                    (message.msg_control, message.msg_controllen) = (control.baseAddress, control.count)
                    return Self.retrying { sendmsg(descriptor, &message, Int32(MSG_NOSIGNAL)) } == bytes.count
                }
            }
        }
    }

    /// True where there is a helper, and no message of it: between two pictures there must be none.
    var isQuiet: Bool {
        var byte: UInt8 = 0
        let count = Self.retrying { recv(descriptor, &byte, 1, Int32(MSG_DONTWAIT | MSG_PEEK)) }
        return count < 0 && errno == EAGAIN
    }

    /// True where a message of the helper has not been read.
    var hasMessage: Bool {
        var byte: UInt8 = 0
        return Self.retrying { recv(descriptor, &byte, 1, Int32(MSG_DONTWAIT | MSG_PEEK)) } > 0
    }

    /// Waits for a message, or the end of the helper. Returns false when `milliseconds` have passed.
    func waitForMessage(milliseconds: Int32) -> Bool {
        var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&watched, 1, milliseconds) > 0
    }

    /// Reads a message that has come. Descriptors that come with it are not taken.
    ///
    /// - Returns: nil where the helper has ended.
    func receive() throws(ImageIsolationError) -> HelperMessage.Answer? {
        var buffer = [UInt8](repeating: 0, count: HelperMessage.Answer.size)
        let count = buffer.withUnsafeMutableBytes { bytes in
            // With MSG_TRUNC it returns the length of the message, however long that is.
            Self.retrying { recv(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_TRUNC)) }
        }
        guard count > 0 else { return nil }
        guard count == buffer.count else { throw .protocolError("an answer of \(count) bytes") }
        let answer = buffer.withUnsafeBytes { bytes in
            Result { () throws(ImageIsolationError) in try HelperMessage.Answer(bytes) }
        }
        return try answer.get()
    }

    private static func retrying(_ call: () -> Int) -> Int {
        while true {
            let result = call()
            if result >= 0 || errno != EINTR { return result }
        }
    }
}
#endif
