import CleanSlate
import Foundation
import Glibc
import HTTPTypes
import Persistence
import ScopedNetTestServer
import TestProcesses
import Testing

@testable import ConformanceClient
@testable import ScopedNet

/// Downloads that come out of the cache: their file gets the body a piece at a time, and memory never does.
@Suite(.leavesNothing, .timeLimit(.minutes(1))) struct CachedDownloadTests {
    private let folder = DownloadFolder()

    private func download(
        _ cached: CachedWire, _ name: String, _ change: (inout RequestOptions) -> Void = { _ in }
    ) async throws(NetworkError) -> Response<URL> {
        try await cached.wire.session.download(cached.server.url + "/", to: folder.url(name)).options(change).response()
    }

    /// From memory, from a row of the database and from a file of it.
    @Test(arguments: [1_000, 100_000, 3 << 20], [false, true])
    func theFileGetsTheBodyAndTheResponseHasNone(count: Int, isForgotten: Bool) async throws {
        try await withCache { cached async throws in
            let body = bytes(count)
            cached.server.on("/", ScriptedResponse.ok(.bytes(Array(body))).header("Cache-Control", "max-age=60"))
            _ = try await download(cached, "a")
            if isForgotten { await cached.cache.store.relieveMemory() }
            let second = try await download(cached, "b")
            #expect(second.source == .cache && second.body.isEmpty)
            #expect(folder.contents("b").isSame(as: body))
            #expect(cached.cache.statistics.bytesSaved == Int64(count))
            #expect(cached.server.requests.count == 1)
        }
    }

    @Test func aCodedBodyIsDecodedIntoTheFile() async throws {
        try await withCache { _ in
        } store: {
            $0.limits.inlineBodyBytes = 0
        } _: { cached async throws in
            let coded = try #require(Data(base64Encoded: "H4sIAAAAAAACA0tMHAWjYBQMdwAAA9o4mugDAAA="))
            cached.server.on(
                "/", ScriptedResponse.ok(.bytes(Array(coded))).header("Cache-Control", "max-age=60").header("Content-Encoding", "gzip"))
            _ = try await cached.get()
            await cached.cache.store.relieveMemory()
            let second = try await download(cached, "b")
            #expect(second.source == .cache && second.body.isEmpty)
            #expect(folder.contents("b") == Data(repeating: UInt8(ascii: "a"), count: 1000))
        }
    }

    @Test func aPartOfAStoredBodyIsAFileToo() async throws {
        try await withCache { cached async throws in
            let body = bytes(1 << 20)
            cached.server.on("/", ScriptedResponse.ok(.bytes(Array(body))).header("Cache-Control", "max-age=60"))
            _ = try await cached.get()
            await cached.cache.store.relieveMemory()
            let part = try await cached.wire.session.download(
                cached.server.url + "/", to: folder.url("part"), headers: [.range: "bytes=300000-899999"]
            ).response()
            #expect(part.source == .cache && part.status == 206 && part.body.isEmpty)
            #expect(folder.contents("part").isSame(as: body[300_000..<900_000]))
        }
    }

    /// An error's document is for the error, and the file keeps what it had.
    @Test func aStoredErrorLeavesTheFile() async throws {
        try await withCache { cached async throws in
            cached.server.on("/", ScriptedResponse.ok("gone").with { $0.status = 404 }.header("Cache-Control", "max-age=60"))
            try Data("old".utf8).write(to: folder.url("a"))
            for isFirst in [true, false] {
                let error = await #expect(throws: NetworkError.self) { try await download(cached, "a") }
                #expect(error?.response?.status == 404 && error?.body == Data("gone".utf8), "first: \(isFirst)")
            }
            #expect(folder.contents("a") == Data("old".utf8))
            #expect(cached.server.requests.count == 1)
        }
    }

    @Test func theSequenceOfTwoReadsNoBodyForAFile() async throws {
        try await withCache { cached async throws in
            let body = bytes(1 << 20)
            cached.server.on("/", ScriptedResponse.ok(.bytes(Array(body))).header("Cache-Control", "max-age=60"))
            _ = try await download(cached, "a")
            let second = try await download(cached, "b") { $0.cache.read = .thenNetwork }
            #expect(second.source == .network && folder.contents("b").isSame(as: body))
            #expect(cached.server.requests.count == 2)
        }
    }

    @Test func aFileThatCannotBeWrittenIsTheDownloadsErrorNotTheCaches() async throws {
        try await withCache { cached async throws in
            cached.server.on("/", ScriptedResponse.ok(.bytes(Array(bytes(1 << 20)))).header("Cache-Control", "max-age=60"))
            _ = try await download(cached, "a")
            let error = await #expect(throws: NetworkError.self) { try await download(cached, "nowhere/b") }
            #expect(error?.code == .fileUnwritable)
            #expect(try await download(cached, "c").source == .cache)
            #expect(folder.names == ["a", "c"])
        }
    }

    /// In a process of its own: over the wire, into the store, and out of it again. The bound is the same for every size.
    @Test func aLargeBodyGoesThroughTheCacheInLittleMemory() async throws {
        let count = getenv("SCOPEDNET_SOAK").map { String(cString: $0) } == "1" ? 1 << 30 : 64 << 20
        try await withWire { wire async throws in
            wire.server.on("/") { request in
                let body = ScriptedResponse.Body.repeating(7, count: request.query == nil ? count : 1_000_000)
                return .ok(body).header("Cache-Control", "max-age=600")
            }
            let command = [product("ConformanceClient"), "download", wire.server.url + "/", folder.url("").path]
            let result = try await ProgramRun(command).result()
            let report = try JSONDecoder().decode(LargeDownload.Report.self, from: Data(result.output.utf8))
            #expect(report.sources == ["network", "cache"] && report.lengths == [count, count] && report.isSame)
            #expect(report.memory <= 16 << 10, "\(report.memory) KiB")
            #expect(wire.server.requests.count == 2)
            print("a body of \(count >> 20) MiB through session and cache: \(report.memory) KiB")
        }
    }

    // MARK: Bodies that are lost

    @Test func aDamagedBodyIsFetchedAnewAndNoByteOfItDelivered() async throws {
        try await withCache { cached async throws in
            let body = bytes(1 << 20)
            cached.server.on("/", ScriptedResponse.ok(.bytes(Array(body))).header("Cache-Control", "max-age=60"))
            _ = try await download(cached, "a")
            try await cached.damageBody(at: 700_000)
            let second = try await download(cached, "b")
            #expect(second.source == .network && folder.contents("b").isSame(as: body))
            #expect(cached.server.requests.count == 2)
            #expect(folder.names == ["a", "b"])
        }
    }

    /// The 304 says that the stored response is right, and then its body cannot be read any more.
    @Test func aBodyThatIsLostAfterA304IsFetchedAnew() async throws {
        try await withCache { cached async throws in
            let body = bytes(1 << 20)
            let whole = ScriptedResponse.ok(.bytes(Array(body))).header("Cache-Control", "max-age=5").header("ETag", "\"1\"")
            cached.server.on("/") { request in
                guard request["if-none-match"] == nil else {
                    return .status(304).header("Cache-Control", "max-age=5").header("ETag", "\"1\"")
                }
                return whole
            }
            _ = try await cached.get()
            try await cached.damageBody(at: 700_000)
            cached.clock.advance(10)
            let second = try await cached.get()
            #expect(second.source == .network && second.body.isSame(as: body))
            #expect(cached.server.requests.map { $0["if-none-match"] } == [nil, "\"1\"", nil])
            // And that is what is stored now.
            await cached.cache.store.relieveMemory()
            let third = try await cached.get()
            #expect(third.source == .cache && third.body.isSame(as: body))
        }
    }
}

/// A folder for the files of one test.
private final class DownloadFolder: Sendable {
    private let path = FileManager.default.temporaryDirectory.path + "/downloads-\(UUID().uuidString)"

    init() { try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func url(_ name: String) -> URL { URL(fileURLWithPath: "\(path)/\(name)") }

    func contents(_ name: String) -> Data { FileManager.default.contents(atPath: "\(path)/\(name)") ?? Data() }

    /// Sorted; what a download left half-written would be among them.
    var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: path).sorted()) ?? [] }
}
