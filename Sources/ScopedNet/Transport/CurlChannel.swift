import CCurl
import CTLS
import FoundationEssentials
import Glibc

/// A connection that libcurl has made and that bytes go through in both directions (curl_easy_recv(3), curl_easy_send(3)). Network thread.
///
/// It has a multi handle of its own: in one with others, libcurl would take it for an idle connection with unexpected bytes, and close it.
///
/// Each direction ends by itself. Closed on this side, it says so once all is sent, and reads on until the other side has closed as well: a socket that is
/// closed with unread bytes, or is sent more, answers with a reset, and the kernel drops what it has not sent yet (RFC 2525 section 2.17).
final class CurlChannel {
    /// The answer of one direction.
    enum Progress {
        /// Nothing more can be done before the socket, the reader or a sender says so.
        case waits
        /// There may be more at once, of which the socket says nothing.
        case goesOn
        /// This direction is over.
        case ended
        case failed(CURLcode)
    }

    let descriptor: Int32
    private let handle: UnsafeMutableRawPointer
    private let pipe: ChannelPipe
    /// Bytes that the reader could not take yet.
    private var unread: Data?
    /// The other side sends no more.
    private(set) var hasReadAll = false
    /// This side has said that it sends no more.
    private(set) var hasSaidEnd = false
    /// The socket took less than there was.
    private(set) var awaitsRoom = false
    /// The bytes that are being sent: after a refusal OpenSSL wants the same bytes at the same place again (SSL_write(3)).
    private let stage = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 16)
    private var staged = 0
    private var sent = 0
    /// Of the first chunk, the bytes that were staged.
    private var taken = 0
    /// When it is closed although the other side has not; `max` while this side is open.
    var deadline = UInt64.max

    private static let size = 16 << 10
    /// Pieces of one turn: other connections want theirs.
    private static let pieces = 16

    init(_ easy: CurlEasy, descriptor: Int32, _ pipe: ChannelPipe) {
        handle = easy.handle
        self.descriptor = descriptor
        self.pipe = pipe
    }

    deinit { stage.deallocate() }

    /// The reader could not take what has come.
    var isBehind: Bool { unread != nil }

    /// Nothing is read while the reader is behind, or behind the end.
    var readsOn: Bool { unread == nil && !hasReadAll }

    /// All bytes that were given so far have gone out.
    var hasSentAll: Bool { sent == staged && pipe.output.first == nil }

    // MARK: In

    func receive() -> Progress {
        guard !hasReadAll else { return .ended }
        if let bytes = unread {
            guard take(bytes) else { return .waits }
            unread = nil
        }
        return withUnsafeTemporaryAllocation(byteCount: Self.size, alignment: 16) { buffer in
            guard let base = buffer.baseAddress else { return .waits }
            for _ in 0..<Self.pieces {
                var count = 0
                switch curl_easy_recv(handle, base, buffer.count, &count) {
                case CURLE_AGAIN: return .waits
                case CURLE_OK where count == 0:
                    hasReadAll = true
                    return .ended
                case CURLE_OK:
                    let bytes = Data(bytes: base, count: count)
                    guard take(bytes) else {
                        unread = bytes
                        return .waits
                    }
                case let code: return .failed(code)
                }
            }
            return .goesOn
        }
    }

    /// - Returns: false when the reader is behind.
    private func take(_ bytes: Data) -> Bool { bytes.withUnsafeBytes { pipe.input.offer($0) } == .accepted }

    // MARK: Out

    func send() -> Progress {
        guard !hasSaidEnd else { return .ended }
        awaitsRoom = false
        for _ in 0..<Self.pieces {
            guard fill() else { return pipe.output.isDone ? .ended : .waits }
            var count = 0
            switch curl_easy_send(handle, stage.baseAddress?.advanced(by: sent), staged - sent, &count) {
            case CURLE_AGAIN:
                awaitsRoom = true
                return .waits
            case CURLE_OK: sent += count
            case let code: return .failed(code)
            }
        }
        return .goesOn
    }

    /// Brings the next bytes into place.
    ///
    /// - Returns: false where there are none.
    private func fill() -> Bool {
        guard sent == staged else { return true }
        (sent, staged) = (0, 0)
        guard let chunk = pipe.output.first else { return false }
        let piece = chunk.dropFirst(taken).prefix(stage.count)
        piece.copyBytes(to: stage)
        staged = piece.count
        taken += piece.count
        if taken == chunk.count {
            taken = 0
            pipe.output.takeFirst()
        }
        return true
    }

    /// Says that nothing more is sent, and goes on reading.
    func sayEnd() {
        hasSaidEnd = true
        // TLS first: without its close_notify the other side takes the end for a cut (RFC 8446 section 6.1).
        if let session = scurl_openssl_session(handle) { _ = SSL_shutdown(OpaquePointer(session)) }
        shutdown(descriptor, Int32(SHUT_WR))
    }
}
