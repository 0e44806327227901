import CleanSlate
import Foundation
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// 1 GiB of zeros in 1 MiB: members of gzip, one behind the other.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1)))
struct InflateBombTests {
    private static let gigabyte: [UInt8] = {
        let member = CodedBodies.gzip([UInt8](repeating: 0, count: 64 << 20))
        return (0..<16).flatMap { _ in member }
    }()

    private var bomb: ScriptedResponse { .ok(.bytes(Self.gigabyte)).header("Content-Encoding", "gzip") }

    @Test func intoMemory() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", bomb)
            let error = try await wire.get().failure()
            #expect(error.code == .decodingBomb)
            #expect(error.phase == .decoding)
        }
    }

    /// No ratio is asked for: the limit of the body in memory still holds.
    @Test func theMemoryLimitCountsDecodedBytes() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", bomb)
            let error = try await wire.get { options in
                options.limits.decoding = .unlimited
                options.limits.bodyBytes = 8 << 20
            }.failure()
            #expect(error.code == .decodingBomb)
        }
    }

    @Test func intoAStream() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", bomb)
            let response = try await wire.session.stream(wire.url + "/")
            var largest = 0
            let error = await #expect(throws: NetworkError.self) {
                for try await piece in response.bytes { largest = max(largest, piece.count) }
            }
            #expect(error?.code == .decodingBomb)
            #expect(largest <= 256 << 10, "one piece had \(largest) bytes")
        }
    }

    /// One piece of the wire makes a thousand of the stream, none larger than the window; what the reader does not take is not decoded.
    @Test(arguments: [1, 1000, 256 << 10]) func aPieceIsNoLargerThanTheWindow(_ window: Int) async throws {
        let text = [UInt8](repeating: UInt8(ascii: "a"), count: min(8 << 20, window * 2000))
        var codings = [
            ("gzip", CodedBodies.gzip(text)), ("deflate", CodedBodies.deflate(text)),
            ("gzip, gzip", CodedBodies.gzip(CodedBodies.gzip(text))),
        ]
        #if Zstd
        codings.append(("zstd", CodedBodies.zstd(text)))
        #endif
        try await withWire { wire async throws in
            for (coding, coded) in codings {
                wire.server.on("/", .ok(.bytes(coded)).header("Content-Encoding", coding))
                let response = try await wire.session.stream(wire.url + "/", window: window)
                var (count, largest) = (0, 0)
                for try await piece in response.bytes {
                    count += piece.count
                    largest = max(largest, piece.count)
                }
                #expect(count == text.count && largest <= window, "\(coding): \(count) bytes, one piece of \(largest)")
            }
        }
    }

    /// 4 MiB that do not shrink would allow 2 GiB of zeros behind them.
    @Test func whatCameBeforeDoesNotPayForABomb() async throws {
        var generator = SeededGenerator(seed: 1)
        let noise = CodedBodies.gzip((0..<512 << 10).flatMap { _ in withUnsafeBytes(of: generator.next()) { Array($0) } })
        let bomb = CodedBodies.gzip([UInt8](repeating: 0, count: 64 << 20))
        try await withWire { wire async throws in
            wire.server.on("/", .ok(.bytes(noise + bomb + bomb)).header("Content-Encoding", "gzip"))
            let response = try await wire.session.stream(wire.url + "/")
            var count = 0
            let error = await #expect(throws: NetworkError.self) { for try await piece in response.bytes { count += piece.count } }
            #expect(error?.code == .decodingBomb)
            #expect(count <= 80 << 20)
        }
    }

    @Test func intoAFile() async throws {
        let folder = TemporaryFolder()
        try await withWire { wire async throws in
            wire.server.on("/", bomb)
            let error = try await wire.session.download(wire.url + "/", to: URL(fileURLWithPath: folder.path + "/f")).failure()
            #expect(error.code == .decodingBomb)
            #expect(folder.names.isEmpty)
        }
    }

    @Test func inAnErrorDocument() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", bomb.with { $0.status = 500 })
            let error = try await wire.get().failure()
            #expect(error.code == .unacceptableStatus)
            #expect((error.body?.count ?? 0) <= 64 << 10)
        }
    }
}
