#if TestServer
internal import Synchronization

/// A scripted HTTP server on this machine, for tests, demos and benchmarks.
///
/// It answers what it was told to, misbehaves on demand, and keeps evidence of what really came over the wire. What it
/// answers is looked up in this order: responses queued for the path, responses queued for any, routes, the handler
/// given at initialization, 404.
///
/// ```swift
/// let server = LoopbackServer()
/// try await server.start()
/// server.on("/hello", .ok("Hello"))
/// // … the client under test …
/// let request = try await server.takeRequest()
/// await server.stop()
/// ```
///
/// All of it can be called from any thread. Nothing a client does makes it crash.
public final class LoopbackServer: Sendable {
    let core: ServerCore
    private let configuration: Configuration
    private let listener: Listener

    /// Makes a server that does not listen yet.
    ///
    /// - Parameters:
    ///   - configuration: How it listens and what it speaks.
    ///   - handler: Answers what no script covers; nil answers 404. Its task is cancelled when the client goes away.
    public init(
        _ configuration: Configuration = Configuration(),
        _ handler: (@Sendable (RecordedRequest) async -> ScriptedResponse)? = nil
    ) {
        self.configuration = configuration
        self.core = ServerCore(
            handler: handler, recordsRequests: configuration.recordsRequests,
            recordedBodyLimit: configuration.recordedBodyLimit)
        self.listener = Listener(configuration.listen, threads: configuration.threads, ledger: core.ledger)
    }

    /// Starts to listen. A server that was stopped listens on its old port again.
    public func start() async throws {
        let setup = try ConnectionSetup(configuration, core: core)
        try await listener.start { try setup.setUp($0, $1) }
    }

    /// Starts to listen, from code that is not asynchronous.
    @available(*, noasync, message: "Use start() in asynchronous code.")
    public func startAndWait() throws {
        let setup = try ConnectionSetup(configuration, core: core)
        try listener.startAndWait { try setup.setUp($0, $1) }
    }

    /// Closes the listener and every connection, and returns when all of them are gone.
    ///
    /// Responses under way end with ``ResponseEnding/serverStopped``. Scripts and evidence stay.
    public func stop() async {
        await listener.stop()
    }

    /// The port; after ``stop()`` still the last one, where nobody listens now. Zero on a Unix socket.
    public var port: Int { listener.port ?? 0 }

    /// Where clients find the server, without a slash at the end: `http://127.0.0.1:PORT`, with TLS
    /// `https://localhost:PORT`, on a Unix socket `http://localhost`.
    public var url: String {
        let scheme = configuration.hasTLS ? "https" : "http"
        guard case .host(let address, _) = configuration.listen.address else { return "\(scheme)://localhost" }
        let host = configuration.hasTLS ? "localhost" : address.contains(":") ? "[\(address)]" : address
        return "\(scheme)://\(host):\(port)"
    }

    // MARK: The script

    /// Answers every request for a path. A `*` at the end covers all paths that begin so; an exact path goes before it.
    public func on(_ path: String, _ response: ScriptedResponse) {
        let prepared = PreparedResponse(preparing: response)
        core.script.withLock { $0.route(path, to: .response(prepared)) }
    }

    /// Asks the handler for every request for a path. Its task is cancelled when the client goes away.
    public func on(_ path: String, handler: @escaping @Sendable (RecordedRequest) async -> ScriptedResponse) {
        core.script.withLock { $0.route(path, to: .handler(handler)) }
    }

    /// Asks for credentials before a path is answered: without them 401, and nothing queued is used up. A `*` at the end covers all paths that
    /// begin so; nil takes a challenge away.
    public func protect(_ path: String, with challenge: Challenge?) {
        core.script.withLock { $0.protect(path, with: challenge) }
    }

    /// Answers one request, of any path, before routes are looked at. Queued responses are used in their order.
    public func enqueue(_ response: ScriptedResponse) {
        core.script.withLock { $0.enqueue(response, path: nil) }
    }

    /// Answers one request for this path, before everything else.
    public func enqueue(_ response: ScriptedResponse, for path: String) {
        core.script.withLock { $0.enqueue(response, path: path) }
    }

    /// Lets all responses that stand still at this moment go on.
    public func releaseStalls() {
        core.stalls.releaseAll()
    }
}
#endif
