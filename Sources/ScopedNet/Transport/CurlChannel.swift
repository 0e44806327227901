import CCurl
import CEpoll
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
    private enum Progress {
        /// Nothing more can be done before the socket, the reader or a sender says so.
        case waits
        /// There may be more at once, of which the socket says nothing.
        case goesOn
        /// This direction is over.
        case ended
        case failed(CURLcode)

        var goesOn: Bool { if case .goesOn = self { true } else { false } }
    }

    /// The outcome of a turn.
    enum Turn {
        /// The socket, the reader, a sender or the clock says when there is more.
        case waits
        /// Others first, and then again.
        case again
        /// Nothing more can be sent; then again.
        case refused(CURLcode)
        case over(CURLcode)
    }

    let descriptor: Int32
    private let handle: UnsafeMutableRawPointer
    private let pipe: ChannelPipe
    /// ``Timeouts/idle`` in nanoseconds, for what is left to be sent once it is closed; nil for none.
    private let patience: UInt64?
    /// Bytes that the reader could not take yet.
    private var unread: Data?
    /// The other side sends no more.
    private var hasReadAll = false
    /// This side has said that it sends no more.
    private var hasSaidEnd = false
    /// The socket took less than there was.
    private var awaitsRoom = false
    /// Nothing more can be sent. What had come until then is read before it ends with this.
    private var failure: CURLcode?
    /// The other side is given its last seconds.
    private var isLeaving = false
    /// Bytes went out in this turn.
    private var hasMoved = false
    /// The bytes that are being sent: after a refusal OpenSSL wants the same bytes at the same place again (SSL_write(3)).
    private let stage = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 16)
    private var staged = 0
    private var sent = 0
    /// Of the first chunk, the bytes that were staged.
    private var taken = 0
    /// When it ends although it is not through: closed, and the other side is silent, or takes nothing more. `max` while this side is open.
    private(set) var deadline = UInt64.max

    /// Silence of the other side after this one has said its end: then it is closed by force.
    private static let silence: UInt64 = 5_000_000_000
    private static let size = 16 << 10
    /// Pieces of one turn: other connections want theirs.
    private static let pieces = 16

    init(_ easy: CurlEasy, descriptor: Int32, _ pipe: ChannelPipe) {
        handle = easy.handle
        self.descriptor = descriptor
        self.pipe = pipe
        patience = easy.transfer?.options.timeouts.idle?.nanoseconds
    }

    deinit { stage.deallocate() }

    /// The reader could not take what has come.
    private var isBehind: Bool { unread != nil }

    /// All bytes that were given so far have gone out.
    private var hasSentAll: Bool { sent == staged && pipe.output.first == nil }

    /// The events of the socket that say something new.
    var events: UInt32 {
        // Nothing is read while the reader is behind, or behind the end.
        (isBehind || hasReadAll ? 0 : SEPOLL_IN) | (awaitsRoom ? SEPOLL_OUT : 0)
    }

    /// Moves what can be moved in either direction.
    func turn(now: UInt64) -> Turn {
        let (read, wrote) = (receive(), send())
        if case .failed(let code) = read { return .over(failure ?? code) }
        if let failure {
            if isBehind { return .waits }
            return read.goesOn ? .again : .over(failure)
        }
        if case .failed(let code) = wrote {
            // A server that refuses what it is sent says why, closes, and answers what still comes with a reset. Its last words came behind the look at
            // the socket in this turn, or the reader is behind: senders are told now, and the reader behind these words.
            failure = code
            // The rest of the bytes to be sent has no clock any more.
            deadline = .max
            return .refused(code)
        }
        if hasReadAll { pipe.input.finish(nil) }
        if case .ended = wrote, !hasSaidEnd { sayEnd() }
        // The other side closes: what was taken still goes out.
        if hasReadAll, hasSaidEnd || hasSentAll { return .over(CURLE_OK) }
        setDeadline(now)
        // Bytes that TLS has read ahead wake nobody.
        return read.goesOn || wrote.goesOn ? .again : .waits
    }

    private func setDeadline(_ now: UInt64) {
        if hasSaidEnd {
            if isBehind {
                // A reader that is behind is waited for, as long as there is one.
                deadline = .max
            } else if !isLeaving || deadline == .max || !pipe.input.isAbandoned {
                // Bytes that nobody reads gain it no more time.
                isLeaving = true
                deadline = now &+ Self.silence
            }
        } else if pipe.output.isClosing, let patience, hasMoved || deadline == .max {
            deadline = now &+ patience
        }
        hasMoved = false
    }

    /// The error of one whose time is over; nil where it has said its end, and all of it went out.
    var overdue: String? {
        hasSaidEnd ? nil : "the other side took nothing for \(Duration.nanoseconds(Int64(clamping: patience ?? 0))) after the close"
    }

    // MARK: In

    private func receive() -> Progress {
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

    private func send() -> Progress {
        awaitsRoom = false
        guard !hasSaidEnd, failure == nil else { return .ended }
        for _ in 0..<Self.pieces {
            guard fill() else { return pipe.output.isDone ? .ended : .waits }
            var count = 0
            switch curl_easy_send(handle, stage.baseAddress?.advanced(by: sent), staged - sent, &count) {
            case CURLE_AGAIN:
                // In the middle of a handshake (TLS 1.2 renegotiates) it is not the socket that is full: bytes of the other side are wanted, and a socket
                // that can be written to would wake the loop for ever.
                awaitsRoom = !wantsBytes
                return .waits
            case CURLE_OK:
                sent += count
                hasMoved = true
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

    private var session: OpaquePointer? { scurl_openssl_session(handle).map { OpaquePointer($0) } }

    /// The last call of OpenSSL ended because it wants to read (SSL_want(3)).
    private var wantsBytes: Bool { session.map { SSL_want($0) == SSL_READING } ?? false }

    /// Says that nothing more is sent, and goes on reading.
    private func sayEnd() {
        hasSaidEnd = true
        // TLS first: without its close_notify the other side takes the end for a cut (RFC 8446 section 6.1).
        if let session { _ = SSL_shutdown(session) }
        shutdown(descriptor, Int32(SHUT_WR))
    }
}
