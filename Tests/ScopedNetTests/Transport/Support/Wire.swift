import Foundation
import HTTPTypes
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// A session, an agent of its own, and a server for it: what most wire tests need.
struct Wire: Sendable {
    let server: LoopbackServer
    let session: Session
    let agent: RequestAgent

    var url: String { server.url }

    func get(_ path: String = "/", _ change: (inout RequestOptions) -> Void = { _ in }) -> Request<Data> {
        session.request(url + path).options(change)
    }

    func send(_ path: String = "/", method: String = "GET", body: RequestBody? = nil) async throws(NetworkError) -> Response<Data> {
        try await session.request(url + path, method: .init(rawValue: method)!, body: body).response()
    }
}

/// Runs a test against a server and a session, and takes the census at its end: no run, no slot, no connection is left.
func withWire(
    _ server: LoopbackServer.Configuration = .init(), configure: (inout Session.Configuration) throws -> Void = { _ in },
    _ test: (Wire) async throws -> Void
) async throws {
    try await withLoopbackServer(server) { server in
        try await withSession(configure) { session in
            try await test(Wire(server: server, session: session, agent: session.agent))
        }
        try await server.waitForOpenConnections { $0 == 0 }
    }
}

/// A session that asks no environment for proxies and is shut down at the end.
func withSession(
    _ configure: (inout Session.Configuration) throws -> Void = { _ in }, _ test: (Session) async throws -> Void
) async throws {
    var configuration = Session.Configuration(agent: RequestAgent())
    configuration.proxy = .none
    try configure(&configuration)
    let session = Session(configuration: configuration)
    do {
        try await test(session)
    } catch {
        await session.shutdown()
        throw error
    }
    await session.agent.idle()
    #expect(session.agent.liveCount == 0)
    await session.shutdown()
    #expect(session.admission.activeCount == 0, "a slot was not given back")
    #expect(session.admission.waitingCount == 0)
}

func withLoopbackServer(
    _ configuration: LoopbackServer.Configuration = .init(), _ test: (LoopbackServer) async throws -> Void
) async throws {
    let server = LoopbackServer(configuration)
    try await server.start()
    do {
        try await test(server)
    } catch {
        await server.stop()
        throw error
    }
    await server.stop()
    #expect(server.openConnections == 0)
    #expect(server.concurrentRequests == 0)
}

func withLoopbackProxy(
    _ configuration: LoopbackProxy.Configuration = .init(), _ test: (LoopbackProxy) async throws -> Void
) async throws {
    let proxy = LoopbackProxy(configuration)
    try await proxy.start()
    do {
        try await test(proxy)
    } catch {
        await proxy.stop()
        throw error
    }
    await proxy.stop()
    #expect(proxy.openConnections == 0)
}

extension Request {
    /// Sends, and expects to fail.
    func failure(_ location: SourceLocation = #_sourceLocation) async throws -> NetworkError {
        let outcome = await outcome()
        switch outcome {
        case .success(let response):
            Issue.record("expected an error, got \(response.head) and \(response.body.count) bytes", sourceLocation: location)
            throw UnexpectedSuccess()
        case .failure(let error): return error
        }
    }

    func outcome() async -> Result<Response<Value>, NetworkError> {
        do throws(NetworkError) { return .success(try await response()) } catch { return .failure(error) }
    }
}

struct UnexpectedSuccess: Error {}

private let pattern = Data((0..<100_003).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) })

/// A body that is the same each time and repeats itself late.
func bytes(_ count: Int) -> Data {
    var data = Data(capacity: count)
    while data.count < count { data.append(pattern.prefix(count - data.count)) }
    return data
}

/// A folder that is gone when the last user is.
final class TemporaryFolder: Sendable {
    let path: String

    init() {
        path = NSTemporaryDirectory() + "scopednet-" + UUID().uuidString
        try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    func write(_ text: String, to name: String) -> String {
        write(Data(text.utf8), to: name)
    }

    func write(_ data: Data, to name: String) -> String {
        let file = path + "/" + name
        _ = FileManager.default.createFile(atPath: file, contents: data)
        return file
    }

    var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }

    func contents(of name: String) -> Data? { FileManager.default.contents(atPath: path + "/" + name) }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}

/// Collects values from callbacks on any thread.
final class Gathered<Value: Sendable>: Sendable {
    private let values = Lock<[Value]>([])
    func add(_ value: Value) { values.withLock { $0.append(value) } }
    var all: [Value] { values.withLock { $0 } }
}

/// Keeps every event, and lets a test wait for one.
final class EventRecorder: RequestObserver {
    private struct State {
        var events: [RequestEvent] = []
        var waiters: [(@Sendable (RequestEvent.Kind) -> Bool, CheckedContinuation<Void, Never>)] = []
    }
    private let state = Lock(State())

    func observe(_ event: RequestEvent) {
        let ready = state.withLock { state in
            state.events.append(event)
            let ready = state.waiters.filter { $0.0(event.kind) }.map(\.1)
            state.waiters.removeAll { $0.0(event.kind) }
            return ready
        }
        for waiter in ready { waiter.resume() }
    }

    var events: [RequestEvent.Kind] { state.withLock { $0.events.map(\.kind) } }

    func wait(for wanted: @escaping @Sendable (RequestEvent.Kind) -> Bool) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.events.contains(where: { wanted($0.kind) }) { return true }
                state.waiters.append((wanted, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    /// What the retry policy said, in order.
    var retryDecisions: [String] {
        events.compactMap {
            if case .retryDecided(let reason, let after) = $0 { "\(reason): \(after == nil ? "stop" : "retry")" } else { nil }
        }
    }

    var attempts: [Int] { events.compactMap { if case .started(let attempt) = $0 { attempt } else { nil } } }
}

extension LoopbackServer.Configuration {
    static func tls(_ authority: TestAuthority, _ protocols: [HTTPProtocol] = [.http1]) throws -> Self {
        .init(tls: try authority.makeServerIdentity(), protocols: protocols)
    }
}

extension Data {
    /// `==` for large bodies: a failed expectation would otherwise work out and print the difference of megabytes.
    func isSame(as other: Data) -> Bool { self == other }
}

extension Data? {
    func isSame(as other: Data) -> Bool { self == other }
}
