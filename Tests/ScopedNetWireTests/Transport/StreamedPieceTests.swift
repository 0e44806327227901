import CleanSlate
import Foundation
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// The size of the pieces of a streamed body whose coding is undone.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(2)))
struct StreamedPieceTests {
    /// 64 MiB in 106 bytes of brotli, 16 MiB in 16 KiB of gzip, and a body without a coding.
    @Test(arguments: [("br", 64 << 20), ("gzip", 16 << 20), ("identity", 1 << 20)])
    func noPieceIsLargerThanTheWindow(_ coding: String, _ size: Int) async throws {
        let zeros = [UInt8](repeating: 0, count: coding == "br" ? 0 : size)
        let body: [UInt8] =
            switch coding {
            case "br": CodedBodies.brotliZeros
            case "gzip": CodedBodies.gzip(zeros)
            default: zeros
            }
        let window = 10_000
        try await withWire(configure: { $0.options.limits.decoding = .unlimited }) { wire async throws in
            wire.server.on("/", ScriptedResponse.ok(.bytes(body)).header("Content-Encoding", coding))
            var total = 0
            var largest = 0
            var misfits = 0
            for try await piece in try await wire.session.stream(wire.url + "/", window: window).bytes {
                total += piece.count
                largest = max(largest, piece.count)
                if piece.isEmpty || piece.startIndex != 0 { misfits += 1 }
            }
            #expect(total == size)
            #expect(largest == window)
            #expect(misfits == 0)
        }
    }

    @Test(arguments: [true, false]) func aCancelledReaderGetsNothingOfWhatIsLeftOfAPiece(_ byRun: Bool) async throws {
        try await withWire(configure: { $0.options.limits.decoding = .unlimited }) { wire async throws in
            wire.server.on(
                "/", ScriptedResponse.ok(.bytes(CodedBodies.brotliZeros)).header("Content-Encoding", "br").stalling(.afterBytes(100)))
            let response = try await wire.session.stream(wire.url + "/")
            let error = await Task { await Self.errorBehindFirstPiece(of: response, byRun: byRun) }.value
            #expect(error?.cancelReason == (byRun ? .explicit : .taskCancelled), "\(String(describing: error))")
            #expect(error?.url == wire.url + "/")
            wire.server.releaseStalls()
        }
    }

    @Test(arguments: ["value", "stream", "file"]) func aChainOfAHundredCodingsIsAnErrorInEveryForm(_ form: String) async throws {
        let folder = TemporaryFolder()
        try await withWire { wire async throws in
            let chain = repeatElement("gzip", count: 100).joined(separator: ", ")
            wire.server.on("/", ScriptedResponse.ok("raw").header("Content-Encoding", chain))
            let error = await #expect(throws: NetworkError.self) {
                switch form {
                case "value": _ = try await wire.get().value()
                case "stream": for try await _ in try await wire.session.stream(wire.url + "/").bytes {}
                default: _ = try await wire.session.download(wire.url + "/", to: URL(filePath: folder.path + "/file")).value()
                }
            }
            #expect(error?.code == .contentDecodingFailed && error?.url?.hasPrefix(wire.url) == true)
            #expect(folder.names.isEmpty)
        }
    }

    private static func cancelThisTask() { withUnsafeCurrentTask { task in task?.cancel() } }

    /// Reads a piece, cancels the run or this task, and reads on.
    private static func errorBehindFirstPiece(of response: StreamedResponse, byRun: Bool) async -> NetworkError? {
        var pieces = response.bytes.makeAsyncIterator()
        do {
            guard try await pieces.next()?.count == 256 << 10 else { return nil }
            if byRun {
                _ = await response.run.cancelAndWait()
            } else {
                Self.cancelThisTask()
            }
            _ = try await pieces.next()
            return nil
        } catch { return error }
    }
}
