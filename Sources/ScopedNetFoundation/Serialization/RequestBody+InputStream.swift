public import Foundation
import FoundationNetworking
public import ScopedNet

extension RequestBody {
    /// A body of what is left in a stream, read while it is sent, in pieces of 64 KiB, on a queue of its own. It can be sent once:
    /// redirects that keep the body, retries and a second start are `bodyNotReplayable`. The error that the stream reports is the
    /// `underlying` of `bodyStreamFailed`.
    ///
    /// - Parameters:
    ///   - stream: nobody else may use it from now on. Opened where it is not yet, closed at its end.
    ///   - length: the exact number of bytes, if known.
    /// - Returns: a body without a type; the request's fields may give it one.
    public static func inputStream(_ stream: sending InputStream, length: Int64? = nil) -> RequestBody {
        .stream(InputStreamBytes(stream: SoleStream(stream)), length: length)
    }

    init?(_ request: URLRequest) {
        if let data = request.httpBody {
            self = .data(data)
        } else if let stream = request.httpBodyStream {
            let length = request.value(forHTTPHeaderField: "Content-Length").flatMap { Int64($0) }
            self = .stream(InputStreamBytes(stream: SoleStream(stream)), length: length)
        } else {
            return nil
        }
    }
}

/// The stream, in the hands of one reader.
private final class SoleStream: @unchecked Sendable {
    // Safety: one iterator reads, one piece at a time, each after the one before it has come back; the caller has given the stream away.
    private let stream: InputStream
    private var isOpen = false
    /// A pipe may keep a reader waiting for ever: no thread of the concurrency runtime, nor of the library's pool, is for that.
    private let queue = DispatchQueue(label: "scopednet.inputstream")

    init(_ stream: InputStream) { self.stream = stream }

    deinit { stream.close() }

    /// - Returns: nil at the end.
    func next() async throws -> Data? {
        try await withCheckedContinuation { continuation in queue.async { continuation.resume(returning: self.read()) } }.get()
    }

    /// Blocks as long as the stream does.
    private func read() -> Result<Data?, any Error> {
        if !isOpen {
            isOpen = true
            if stream.streamStatus == .notOpen { stream.open() }
        }
        var piece = Data(count: 64 << 10)
        let count = piece.withUnsafeMutableBytes { bytes in
            bytes.baseAddress.map { stream.read($0.assumingMemoryBound(to: UInt8.self), maxLength: bytes.count) } ?? 0
        }
        if count < 0 { return .failure(stream.streamError ?? CocoaError(.fileReadUnknown)) }
        return .success(count == 0 ? nil : piece.prefix(count))
    }
}

private struct InputStreamBytes: AsyncSequence, Sendable {
    typealias Element = Data
    let stream: SoleStream

    struct AsyncIterator: AsyncIteratorProtocol {
        let stream: SoleStream

        mutating func next() async throws -> Data? { try await stream.next() }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(stream: stream) }
}
