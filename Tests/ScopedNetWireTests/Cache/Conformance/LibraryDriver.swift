import ConformanceClient
import Foundation
import HTTPTypes
import Persistence
import ScopedNetTestServer
import SystemSupport
import TestProcesses

@testable import ScopedNet

/// The library as users have it, before a scripted server on real sockets, with a number for a clock.
final class LibraryDriver: CacheScenarioDriver {
    /// Where the cache finds what it stored.
    enum Medium: String, Sendable, CaseIterable {
        /// Memory, with the disk behind it.
        case memory
        /// The same, while what was stored is written to the disk at once.
        case writing
        /// The database is closed after each exchange, and the next one finds it on disk.
        case disk
        /// Each request has a process of its own, which leaves nothing to the next but the database.
        case process
    }

    private static let client = product("ConformanceClient")

    private struct State {
        var origin: ScenarioOrigin
        var now = WallTime(secondsSince1970: 1_800_000_000)
        var interim: [ScenarioResponse.Head] = []
        var cache: ResponseCache?
    }

    private let server: LoopbackServer
    private let medium: Medium
    private let folder: String
    private let clock: SharedClock
    private let state: Lock<State>

    init(_ scenario: CacheScenario, _ medium: Medium, server: LoopbackServer, folder: String) {
        self.server = server
        self.medium = medium
        self.folder = "\(folder)/\(scenario.id)"
        clock = SharedClock(self.folder + ".clock")
        let initial = State(origin: ScenarioOrigin(scenario))
        clock.set(initial.now.secondsSince1970)
        state = Lock(initial)
        for path in Set(scenario.exchanges.map { (scenario.path + $0.suffix).prefix { $0 != "?" } }) {
            server.on(String(path)) { [weak self] request in self?.answer(request) ?? .failing }
        }
    }

    func pause(seconds: Int) async throws { state.withLock { advance(&$0, by: seconds) } }

    private func advance(_ state: inout State, by seconds: Int) {
        guard seconds > 0 else { return }
        state.now = state.now + Double(seconds)
        clock.set(state.now.secondsSince1970)
    }

    func visits() async throws -> [ScenarioOrigin.Visit] {
        await closeCache()
        return state.withLock { $0.origin.visits }
    }

    private func closeCache() async {
        let cache = state.withLock { state in
            defer { state.cache = nil }
            return state.cache
        }
        await cache?.store.close()
    }

    private func openCache() -> ResponseCache {
        if let cache = state.withLock({ $0.cache }) { return cache }
        var configuration = StoreConfiguration(directory: folder)
        if medium == .writing { configuration.limits.dirtyAge = .zero }
        let cache = ResponseCache(configuration) { [weak self] in
            self?.state.withLock { $0.now } ?? WallTime(secondsSince1970: 0)
        }
        state.withLock { $0.cache = cache }
        return cache
    }

    func exchange(_ request: ScenarioRequest) async throws -> ScenarioResponse {
        try await medium == .process ? exchangeInProcess(request) : exchangeHere(request)
    }

    private func exchangeInProcess(_ request: ScenarioRequest) async throws -> ScenarioResponse {
        let order = ClientRequest(
            method: request.method, url: server.url + request.target,
            fields: request.fields.map { .init(name: $0.name.rawName, value: $0.value) }, body: request.body, isReload: request.isReload,
            folder: folder, clock: folder + ".clock")
        let input = String(decoding: try JSONEncoder().encode(order), as: UTF8.self)
        let result = try await ProgramRun([Self.client], input: input).result()
        guard result.status == 0 else { throw ClientFailure(description: "status \(result.status): \(result.errors)") }
        let response = try JSONDecoder().decode(ClientResponse.self, from: Data(result.output.utf8))
        return ScenarioResponse(
            status: response.head.status, fields: HTTPFields(response.head), body: response.body,
            interim: response.interim.map { ScenarioResponse.Head(status: $0.status, fields: HTTPFields($0)) })
    }

    private func exchangeHere(_ request: ScenarioRequest) async throws -> ScenarioResponse {
        var configuration = Session.Configuration(agent: RequestAgent())
        configuration.proxy = .none
        configuration.cache = openCache()
        configuration.observers = [Interim { [weak self] head in self?.state.withLock { $0.interim.append(head) } }]
        configuration.options.validation = .any
        configuration.options.redirects.mode = .never
        // A connection that is lost is a loss here, too: what is stored must not stand in for what the origin was not asked.
        configuration.options.retry.silentReconnect = false
        if request.isReload { configuration.options.cache.read = .revalidate }
        let session = Session(configuration: configuration)
        state.withLock { $0.interim = [] }
        let method = HTTPRequest.Method(request.method) ?? .get
        let body = request.body.map { RequestBody.data(Data($0.utf8)) }
        let response = try await session.request(
            server.url + request.target, method: method, headers: HeaderFields(request.fields), body: body
        )
        .response()
        await session.agent.waitUntilIdle()
        if medium == .disk { await closeCache() }
        let interim = state.withLock { $0.interim }
        return ScenarioResponse(
            status: response.status, fields: response.head.headers, body: String(decoding: response.body, as: UTF8.self), interim: interim)
    }

    // MARK: The origin

    private func answer(_ request: RecordedRequest) -> ScriptedResponse {
        var fields = HTTPFields()
        for field in request.headers {
            if let name = HTTPField.Name(field.name) { fields.append(HTTPField(name: name, value: field.value)) }
        }
        let response = state.withLock { state in
            advance(&state, by: state.origin.delay(of: fields))
            return state.origin.answer(method: request.method, fields: fields, now: Int64(state.now.secondsSince1970))
        }
        guard let response else { return .failing }
        var text = response.interim.map { Self.head($0.status, $0.fields) }.joined()
        text += Self.head(response.status, response.fields) + Self.framed(response)
        let raw = ScriptedResponse.raw(Array(text.utf8))
        return Self.endsItself(response, to: request.method) ? raw.ending(.keepAlive) : raw
    }

    /// A connection that closes behind a response that does not say so is lost for a request that follows at once (RFC 9112 section 9.6).
    private static func endsItself(_ response: ScenarioResponse, to method: String) -> Bool {
        if response.fields[.transferEncoding] != nil { return false }
        if response.status == 204 || response.status == 304 || method == "HEAD" { return true }
        return response.fields[.contentLength] == String(response.body.utf8.count)
    }

    private static func head(_ status: Int, _ fields: HTTPFields) -> String {
        "HTTP/1.1 \(status) \r\n" + fields.map { "\($0.name.rawName): \($0.value)\r\n" }.joined() + "\r\n"
    }

    /// A transfer coding that the script names needs its framing.
    private static func framed(_ response: ScenarioResponse) -> String {
        guard response.fields[.transferEncoding] != nil else { return response.body }
        return String(response.body.utf8.count, radix: 16) + "\r\n" + response.body + "\r\n0\r\n\r\n"
    }
}

private struct Interim: RequestObserver {
    let add: @Sendable (ScenarioResponse.Head) -> Void

    func observe(_ event: RequestEvent) {
        guard case .informational(let head) = event.kind else { return }
        add(ScenarioResponse.Head(status: head.status, fields: head.headers))
    }
}

private struct ClientFailure: Error, CustomStringConvertible { let description: String }

extension HTTPFields {
    fileprivate init(_ head: ClientResponse.Head) {
        self.init()
        for field in head.fields {
            if let name = HTTPField.Name(field.name) { append(HTTPField(name: name, value: field.value)) }
        }
    }
}
