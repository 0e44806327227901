import FoundationEssentials
import Glibc

/// Hands the bytes of one upload to libcurl, wherever they come from. It belongs to one transfer.
final class UploadFeed {
    private enum Source {
        case data(Data, copy: UnsafeMutableRawPointer?)
        case file(UploadFile)
        case stream(UploadStream)
    }

    enum Read { case bytes(Int), end, notYet, notEnded, failed(any Error) }

    private let source: Source
    private(set) var offset: Int64 = 0
    private(set) var isDone = false
    let length: Int64?
    private var reported: Int64 = 0
    /// The most bytes that are given at once.
    private let piece: Int

    /// Bodies up to this size are copied once and sent in one piece with the head.
    private static let smallBody = 64 << 10

    /// Makes the feed of a body. `file` is opened already, where the body is one.
    init(_ body: RequestBody, file: UploadFile? = nil, piece: Int = .max) throws(NetworkError) {
        self.piece = piece
        switch body.content {
        case .data(let data):
            length = Int64(data.count)
            // In one piece, it would know no limit on its speed.
            guard data.count <= Self.smallBody, !data.isEmpty, piece == .max, let copy = malloc(data.count) else {
                source = .data(data, copy: nil)
                isDone = data.isEmpty
                break
            }
            data.copyBytes(to: UnsafeMutableRawBufferPointer(start: copy, count: data.count))
            source = .data(data, copy: copy)
            isDone = true
        case .file(let path):
            guard let file else { throw NetworkError(.fileUnreadable, phase: .preparing, message: "\(path) was not opened") }
            source = .file(file)
            length = file.length
        case .stream(let upload):
            let stream = try upload.open()
            source = .stream(stream)
            length = stream.length
            // libcurl asks for nothing then, and nobody would hear of what the sequence gives.
            isDone = length == 0
        }
    }

    func begin(ready: @escaping @Sendable () -> Void) {
        switch source {
        case .stream(let stream): if length != 0 { stream.begin(ready: ready) }
        case .file(let file): file.begin(ready: ready)
        case .data: break
        }
    }

    func end() {
        switch source {
        case .data(_, let copy): free(copy)
        case .file(let file): file.end()
        case .stream(let stream): stream.abandon()
        }
    }

    var contiguousBytes: UnsafeMutableRawPointer? {
        if case .data(_, let copy) = source { copy } else { nil }
    }

    var hasBegun: Bool { offset > 0 }

    /// The code, message and cause of a body that could not be read to its end.
    func failure(_ error: any Error) -> (code: NetworkError.Code, message: String, underlying: (any Error)?) {
        if let file = error as? PiecewiseFile.Unreadable { return (file.error.code, file.error.message, file.error.underlying) }
        return (failureCode, failureText(error), error)
    }

    private var failureCode: NetworkError.Code {
        if case .file = source { offset < (length ?? 0) ? .bodyStreamFailed : .fileUnreadable } else { .bodyStreamFailed }
    }

    private func failureText(_ error: any Error) -> String {
        switch error {
        case let error as LengthMismatch: error.description
        case let error as MultipartForm.BodyFailure: error.description
        case let error as NoEnd: error.description
        case let error as NetworkError.SystemError: "reading the body failed: \(error)"
        default: "the body sequence threw an error"
        }
    }

    /// All bytes declared have come, and nothing after them: neither more, nor the end.
    struct NoEnd: Error, CustomStringConvertible {
        let length: Int64
        var description: String { "the body sequence has given the \(length) bytes declared, and does not end" }
    }

    /// The error of a sequence that does not end behind its last byte.
    var noEnd: NoEnd { NoEnd(length: length ?? offset) }

    func read(into whole: UnsafeMutableRawBufferPointer) -> Read {
        let buffer = UnsafeMutableRawBufferPointer(rebasing: whole.prefix(piece))
        let room = length.map { min(Int64(buffer.count), $0 - offset) } ?? Int64(buffer.count)
        switch source {
        case .data(let data, _):
            let start = data.startIndex + Int(offset)
            let count = min(buffer.count, data.endIndex - start)
            guard count > 0 else { isDone = true; return .end }
            data.copyBytes(to: buffer, from: start..<start + count)
            return advance(count)
        case .file(let file):
            guard room > 0 else { isDone = true; return .end }
            let read = file.take(into: UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(Int(room))))
            switch read {
            case .bytes(let count): return advance(count)
            case .end: return .failed(LengthMismatch(declared: length ?? 0, seen: offset))
            case .notYet, .notEnded, .failed: return read
            }
        case .stream(let stream): return read(stream, into: buffer)
        }
    }

    private func read(_ stream: UploadStream, into buffer: UnsafeMutableRawBufferPointer) -> Read {
        switch stream.take(into: buffer) {
        case .bytes(let count): return advance(count)
        case .end:
            if let length, offset < length { return .failed(LengthMismatch(declared: length, seen: offset)) }
            isDone = true
            return .end
        case .notYet: return .notYet
        case .notEnded: return .notEnded
        case .failed(let error): return .failed(error)
        }
    }

    private func advance(_ count: Int) -> Read {
        offset += Int64(count)
        if let length, offset >= length { isDone = true }
        return .bytes(count)
    }

    /// The bytes of the body among those that libcurl has sent. It counts chunk sizes, too.
    func payload(_ sent: Int64) -> Int64 { length == nil ? min(sent, offset) : sent }

    /// Takes what libcurl has sent so far; nil where that is no more than before.
    func progress(_ sent: Int64) -> Int64? {
        let sent = payload(sent)
        guard sent > reported else { return nil }
        reported = sent
        return sent
    }

    /// Corrects what libcurl measures of a transfer with a body.
    func complete(_ metrics: inout TransferMetrics, sent: Int64, _ clocks: TransferClocks) {
        // With a body to send, libcurl's clock stops at the first byte of either direction.
        let firstByte = clocks.headCompleted > clocks.began ? clocks.headCompleted - clocks.began : 0
        metrics.times.firstByte = Int64(clamping: firstByte / 1_000)
        metrics.bodyBytesSent = payload(sent)
        // A body that travels in one packet with the head is counted there too (Curl_buffer_send in http.c).
        if Capabilities.current.countsBodiesAsHeads, contiguousBytes != nil, metrics.requestBytes > metrics.bodyBytesSent {
            metrics.requestBytes -= Int(clamping: metrics.bodyBytesSent)
        }
    }

    func rewind(to position: Int64) -> Bool {
        if case .stream = source { return position == offset }
        if case .file(let file) = source, position != offset { file.rewind(to: position) }
        offset = position
        isDone = contiguousBytes != nil
        return true
    }
}
