import Foundation
import Glibc
import ScopedNet

/// Sends or receives a large body, and says how much memory that took at most.
///
///     ConformanceClient transfer KIND URL BYTES FOLDER VERSION
enum LargeTransfer {
    enum Kind: String, Sendable, CaseIterable {
        case uploadFile, uploadForm, uploadStream, downloadFile, downloadStream
        var isUpload: Bool { self != .downloadFile && self != .downloadStream }
    }

    /// What it says, on its standard output.
    struct Report: Codable, Sendable {
        /// Above what the process took before, in KiB.
        var memory: Int
        /// Bytes of the body, as the client counted them.
        var count: Int
        /// Of the response, such as `2`.
        var version: String
    }

    static func run(_ words: [String]) async throws {
        guard words.count == 5, let kind = Kind(rawValue: words[0]), let count = Int(words[2]) else { exit(2) }
        var configuration = Session.Configuration(agent: RequestAgent())
        configuration.proxy = .none
        configuration.options.httpVersion = words[4] == "2" ? .http2PriorKnowledge : .http1
        let session = Session(configuration: configuration)
        let client = Client(session: session, kind: kind, url: words[1], folder: URL(filePath: words[3]))
        // Threads, buffers and the connection are there before it counts.
        _ = try await client.transfer(1_000_000)
        let before = ProcessMemory.kibibytes("VmRSS")
        ProcessMemory.resetPeak()
        let (moved, version) = try await client.transfer(count)
        let report = Report(memory: ProcessMemory.kibibytes("VmHWM") - before, count: moved, version: version)
        try FileHandle.standardOutput.write(contentsOf: JSONEncoder().encode(report))
        await session.shutdown()
    }

    private struct Client {
        let session: Session
        let kind: Kind
        let url: String
        let folder: URL

        /// - Returns: how many bytes, and the version of HTTP.
        func transfer(_ count: Int) async throws -> (Int, String) {
            switch kind {
            case .uploadFile: return (count, try await send(.file(try sparseFile(count).path)))
            case .uploadStream: return (count, try await send(.stream(Zeros(count: count), length: Int64(count))))
            case .uploadForm:
                var form = MultipartForm()
                try form.add(file: try sparseFile(count), name: "file")
                return (Int(form.contentLength ?? 0), try await send(.multipart(form)))
            case .downloadFile:
                let file = folder.appending(path: "received")
                let response = try await session.download("\(url)?\(count)", to: file).response()
                var status = stat()
                return (stat(file.path, &status) == 0 ? status.st_size : -1, response.head.version)
            case .downloadStream:
                let response = try await session.stream("\(url)?\(count)")
                var received = 0
                for try await piece in response.bytes { received += piece.count }
                return (received, response.head.version)
            }
        }

        private func send(_ body: RequestBody) async throws -> String {
            try await session.request(url, method: .put, body: body).response().head.version
        }

        /// Takes no room: the kernel reads zeros.
        private func sparseFile(_ count: Int) throws -> URL {
            let file = folder.appending(path: "sent")
            try Data().write(to: file)
            guard truncate(file.path, count) == 0 else { throw CocoaError(.fileWriteUnknown) }
            return file
        }
    }

    /// So many zeros, in pieces of 64 KiB that are made as they are asked for.
    private struct Zeros: AsyncSequence, Sendable {
        let count: Int

        struct Iterator: AsyncIteratorProtocol {
            var left: Int

            mutating func next() async -> Data? {
                guard left > 0 else { return nil }
                let piece = Data(count: Swift.min(left, 64 << 10))
                left -= piece.count
                return piece
            }
        }

        func makeAsyncIterator() -> Iterator { Iterator(left: count) }
    }
}
