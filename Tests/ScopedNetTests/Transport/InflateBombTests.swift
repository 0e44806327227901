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
                options.decoding = .unlimited
                options.maxBodyBytes = 8 << 20
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
            #expect(largest <= 40 << 20, "one piece had \(largest) bytes")
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
