public import FoundationEssentials
import Glibc

extension MultipartForm {
    /// Small pieces are sent together, up to this many bytes.
    private static let pieceBytes = 64 << 10

    /// Goes through the body once. Small pieces are joined; no more than one of them is in memory at a time.
    ///
    /// - Throws: ``MultipartForm/BodyFailure`` for content that is not as it was declared, and what sequences and `send` throw.
    package func write(to send: (Data) async throws -> Void) async throws {
        var waiting = Data()
        func put(_ piece: Data) async throws {
            if waiting.count + piece.count > Self.pieceBytes, !waiting.isEmpty {
                let full = waiting
                waiting = Data()
                try await send(full)
            }
            if piece.count >= Self.pieceBytes { return try await send(piece) }
            waiting.append(piece)
        }
        for piece in layout {
            switch piece {
            case .text(let text): try await put(Data(text.utf8))
            case .content(let part): try await write(part, to: put)
            }
        }
        if !waiting.isEmpty { try await send(waiting) }
    }

    private func write(_ part: MultipartPart, to send: (Data) async throws -> Void) async throws {
        var search = boundary.isChosen ? BoundarySearch(boundary) : nil
        var count: Int64 = 0
        func pass(_ piece: Data) async throws {
            count += Int64(piece.count)
            if let length = part.length, count > length {
                throw MultipartForm.BodyFailure("a part is longer than the \(length) bytes declared")
            }
            if search?.finds(in: piece) == true { throw MultipartForm.BodyFailure("a part holds the boundary chosen for the form") }
            try await send(piece)
        }
        switch part.content {
        case .data(let data): if !data.isEmpty { try await pass(data) }
        case .file(let path): try await MultipartFile.read(path, to: pass)
        case .sequence(let pieces): try await pieces.forEach(pass)
        }
        if let length = part.length, count < length {
            throw MultipartForm.BodyFailure("a part ended after \(count) of the \(length) bytes declared")
        }
    }

    /// Writes the body to a file, replaced in one step and on success only, and gives the body that sends it from there, with this form's type
    /// and the file's length. For uploads that outlive the process or are signed before they are sent.
    ///
    /// - Throws: ``NetworkError`` with code `fileUnwritable` or `diskFull` for the file, `bodyStreamFailed` for parts that cannot be
    ///   read or are not as declared; `cancelled` when the task is. The file is then as it was.
    public func write(to file: URL) async throws(NetworkError) -> RequestBody {
        guard file.isFileURL, !file.path(percentEncoded: true).contains("%00") else {
            throw NetworkError(.fileUnwritable, phase: .preparing, message: "the target must be a file URL")
        }
        let sink = FileSink(destination: file.path)
        do {
            try await write { (piece: Data) async throws in
                try Task.checkCancellation()
                try await BlockingPool.shared.run(.program) { try sink.write(piece) }
            }
            try await BlockingPool.shared.run(.program) { try sink.commit() }
        } catch {
            sink.discard()
            throw Self.networkError(error)
        }
        return RequestBody(content: .file(path: file.path), contentType: contentType, isMultipart: true)
    }

    private static func networkError(_ error: any Error) -> NetworkError {
        switch error {
        case let error as NetworkError: error
        case is CancellationError: .cancelled(.taskCancelled, runID: 0, phase: .preparing)
        case let error as MultipartForm.BodyFailure:
            NetworkError(.bodyStreamFailed, phase: .preparing, message: error.description, underlying: error)
        default: NetworkError(.bodyStreamFailed, phase: .preparing, message: "a part's sequence threw an error", underlying: error)
        }
    }
}

extension MultipartForm {
    /// Why a body could not be sent as it was declared.
    public struct BodyFailure: Error, Hashable, Sendable, CustomStringConvertible {
        /// The cause in one line, without the contents of any part.
        public let description: String
        package init(_ description: String) { self.description = description }
    }
}
