import CleanSlate
import Foundation
import Glibc
import HTTPTypes
import Persistence
import ScopedNetTestServer
@_spi(Transport) import ScopedNetTesting
import SystemSupport
import Testing

@_spi(Transport) @testable import ScopedNet

/// Full disks, streams that break off, raw answers, and closures that call back.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(5)))
struct EngineEdgeTests {
    @Test(.enabled(if: SmallDisk.isAllowed, "mounting a small tmpfs is refused"), arguments: [false, true], [false, true])
    func aFullDiskUnderADownloadThatIsRefused(resumes: Bool, refuses: Bool) async throws {
        let folder = TemporaryFolder()
        try #require(SmallDisk.mount(over: folder) == 0)
        defer { umount2(folder.path, Int32(MNT_DETACH)) }
        _ = folder.write("old", to: "file")
        let file = URL(fileURLWithPath: folder.path + "/file")
        try await withWire { wire async throws in
            for count in [0, 1, 600_000, 1_040_000, 1_048_576, 3_000_000] {
                wire.server.on("/body", ScriptedResponse.ok(.repeating(7, count: count)).header("ETag", "\"\(count)\""))
                let outcome = await wire.session.download(wire.url + "/body", to: file).options {
                    $0.downloads.resumes = resumes
                    if refuses { $0.validation.check = { _, _ in throw CancellationError() } }
                    $0.timeouts.total = .seconds(60)
                }.outcome()
                switch outcome {
                case .success: #expect(!refuses && folder.contents(of: "file")?.count == count)
                case .failure(let error):
                    #expect(error.code == .diskFull || refuses && error.code == .unacceptableResponse, "\(count): \(error)")
                    if refuses { #expect(folder.contents(of: "file") == Data("old".utf8)) }
                }
                let names = folder.names.filter { $0 != "file" }
                if !resumes { #expect(names.isEmpty, "\(count): \(names)") }
                for name in names { unlink(folder.path + "/" + name) }
            }
            await wire.agent.waitUntilIdle()
        }
    }

    @Test(.enabled(if: SmallDisk.isAllowed, "mounting a small tmpfs is refused"))
    func aFullDiskUnderTheCache() async throws {
        let folder = TemporaryFolder()
        try #require(SmallDisk.mount(over: folder) == 0)
        defer { umount2(folder.path, Int32(MNT_DETACH)) }
        let other = TemporaryFolder()
        let cache = ResponseCache(StoreConfiguration(directory: folder.path + "/cache"))
        try await withWire {
            $0.cache = cache
        } _: { wire async throws in
            wire.server.on("/*") { request in
                ScriptedResponse.ok(.repeating(UInt8(request.path.utf8.count), count: 300_000)).header("Cache-Control", "max-age=60")
            }
            for round in 0..<3 {
                for number in 0..<12 {
                    let path = "/" + String(repeating: "a", count: number + 1)
                    if round == 1 {
                        let file = URL(fileURLWithPath: other.path + "/file")
                        _ = try await wire.session.download(wire.url + path, to: file).options { $0.timeouts.total = .seconds(60) }
                            .response()
                        #expect(other.contents(of: "file") == Data(repeating: UInt8(number + 2), count: 300_000))
                    } else {
                        let body = try await wire.get(path) { $0.timeouts.total = .seconds(60) }.response().body
                        #expect(body == Data(repeating: UInt8(number + 2), count: 300_000))
                    }
                }
            }
        }
        await cache.store.close()
    }

    /// A reader has the beginning: nothing is sent again, whatever the policy.
    @Test(arguments: [ScriptedResponse.End.truncate(afterBytes: 5_000), .reset(afterBytes: 5_000)])
    func aStreamThatBreaksOffIsNotRepeated(_ end: ScriptedResponse.End) async throws {
        try await withWire {
            $0.options.retry = RetryPolicy(maxAttempts: 4, backoffBase: .milliseconds(1), backoffCap: .milliseconds(1))
        } _: { wire async throws in
            wire.server.on("/", ScriptedResponse.ok(.repeating(1, count: 10_000)).ending(end))
            for _ in 0..<20 {
                let before = wire.server.requests.count
                var count = 0
                var failure: NetworkError?
                do throws(NetworkError) {
                    let response = try await wire.session.stream(wire.url + "/")
                    for try await piece in response.bytes { count += piece.count }
                } catch { failure = error }
                #expect(failure != nil && count <= 5_000)
                // A reset may take the head away before anybody read it.
                #expect(wire.server.requests.count == before + 1 || count == 0 || end != .truncate(afterBytes: 5_000))
            }
        }
    }

    enum Raw: String, CaseIterable {
        case informationals, lengthBeside, gzipShort, headThenReset, twoHeads, rangeOfNothing, notModifiedWithBody
    }

    @Test(arguments: Raw.allCases) func rawAnswers(_ kind: Raw) async throws {
        let server = try RawServer { connection, _ in
            while let head = connection.readHead() {
                let text: String
                switch kind {
                case .informationals:
                    for _ in 0..<3000 { if !connection.send(Array("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n".utf8)) { return } }
                    text = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
                case .lengthBeside: text = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"
                case .gzipShort: text = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 40\r\n\r\n\u{1f}abc"
                case .headThenReset: text = "HTTP/1.1 200 OK\r\nContent-Length: 40\r\n\r\n"
                case .twoHeads: text = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
                case .rangeOfNothing: text = "HTTP/1.1 206 Partial Content\r\nContent-Length: 2\r\n\r\nok"
                case .notModifiedWithBody: text = "HTTP/1.1 304 Not Modified\r\nContent-Length: 2\r\n\r\nok"
                }
                _ = head
                if !connection.send(Array(text.utf8)) { return }
                if kind != .informationals, kind != .lengthBeside { return }
            }
        }
        let folder = TemporaryFolder()
        try await withCache { cached async throws in
            let session = cached.wire.session
            for number in 0..<12 {
                let ends = Counter()
                let change: @Sendable (inout RequestOptions) -> Void = {
                    $0.timeouts.total = .seconds(60)
                    $0.downloads.resumes = number % 2 == 0
                    $0.retry = RetryPolicy(maxAttempts: 3, backoffBase: .milliseconds(1), backoffCap: .milliseconds(1))
                }
                let codes = Gathered<String>()
                let url = "http://127.0.0.1:\(server.port)/\(number % 2)"
                if number % 3 == 0 {
                    session.download(url, to: URL(fileURLWithPath: folder.path + "/file")).options(change).onFailure {
                        codes.add("\($0.code)")
                    }
                    .onEnd { _ in ends.add() }.start()
                } else {
                    session.request(url).options(change).onFailure { codes.add("\($0.code)") }.onEnd { _ in ends.add() }.start()
                }
                await session.agent.waitUntilIdle()
                #expect(ends.value == 1)
                #expect(!codes.all.contains("totalTimeout"), "\(kind) \(codes.all)")
            }
        }
        server.stop()
    }

    /// All that a closure may do to its own run.
    @Test func closuresThatComeBack() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok(.repeating(1, count: 20_000)))
            for number in 0..<200 {
                let bag = DeallocBag()
                let ends = Counter()
                let others = Counter()
                let holder = Lock<Run?>(nil)
                let request = wire.get()
                @Sendable func comeBack(_ place: Int) {
                    guard number % 4 == place else { return }
                    let run = holder.withLock { $0 }
                    run?.suspend()
                    run?.resume()
                    wire.get().onEnd { _ in others.add(100) }.start(in: bag)
                    if let run { bag.insert(run) }
                    if number % 8 < 4 { run?.cancel() }
                    if number % 3 == 0 { bag.cancelAll() }
                    holder.withLock { $0 = nil }
                }
                _ = request.onResponseHead { _ in comeBack(0) }.onDownloadProgress { _ in comeBack(1) }.onSuccess { _ in comeBack(2) }
                    .onEnd { _ in
                        ends.add()
                        comeBack(3)
                    }
                let run = request.start(in: bag)
                holder.withLock { $0 = run }
                await wire.agent.waitUntilIdle()
                #expect(ends.value == 1, "\(number)")
                #expect(others.value % 100 == 0, "\(number): a closure of the next start was called")
            }
        }
    }

    /// The session's last reference goes in a callback.
    @Test func theSessionGoesInACallback() async throws {
        try await withLoopbackServer { server async throws in
            server.on("/", .ok("in"))
            for number in 0..<60 {
                let agent = RequestAgent()
                let holder = Lock<Session?>(nil)
                let ends = Counter()
                do {
                    var configuration = Session.Configuration(agent: agent)
                    configuration.proxy = .none
                    let session = Session(configuration: configuration)
                    holder.withLock { $0 = session }
                    session.request(server.url + "/").onResponseHead { _ in if number % 3 == 0 { holder.withLock { $0 = nil } } }
                        .onSuccess { _ in if number % 3 == 1 { holder.withLock { $0 = nil } } }
                        .onEnd { _ in
                            if number % 3 == 2 { holder.withLock { $0 = nil } }
                            ends.add()
                        }.start()
                }
                await agent.waitUntilIdle()
                #expect(ends.value == 1)
                holder.withLock { $0 = nil }
            }
            // The server sees a connection's end later than the client.
            for _ in 0..<500 {
                if server.openConnections == 0 { break }
                try await Task.sleep(for: .milliseconds(10))
            }
        }
    }
}
