import Foundation
import Glibc
import HTTPTypes
import Persistence
import ScopedNet
import Synchronization

/// One request over a store that others have left, and that others go on with: a process of its own for each exchange.
@main
struct ConformanceClient {
    static func main() async throws {
        let words = Array(CommandLine.arguments.dropFirst())
        if words.first == "download", words.count == 3 {
            return try await LargeDownload.run(url: words[1], folder: words[2])
        }
        if words.first == "transfer" { return try await LargeTransfer.run(Array(words.dropFirst())) }
        if words.first == "end", words.count == 4 { return try await OrderedEnd.run(url: words[1], folder: words[2], how: words[3]) }
        if words.first == "resume", words.count == 3 { return await ResumedDownload.run(url: words[1], file: words[2]) }
        if words.first == "identity", words.count == 5 {
            return await IdentifiedExchange.run(url: words[1], authority: words[2], certificate: words[3], key: words[4])
        }
        let input = try FileHandle.standardInput.readToEnd() ?? Data()
        let request = try JSONDecoder().decode(ClientRequest.self, from: input)
        let clock = SharedClock(request.clock)
        var store = StoreConfiguration(directory: request.folder)
        if request.endsBySignal { store.limits.dirtyAge = .seconds(3_600) }
        let options: ResponseCache.Options = request.endsBySignal ? .flushesAtTermination : []
        let cache = ResponseCache(store, options: options) { WallTime(secondsSince1970: clock.now) }
        let response = try await exchange(request, cache)
        try FileHandle.standardOutput.write(contentsOf: JSONEncoder().encode(response))
        guard request.endsBySignal else { return await cache.store.close() }
        kill(getpid(), SIGTERM)
        // It waits for its own end: the signal comes back once the cache has written, and finds the usual handling. Should it not, this goes on
        // until whoever started it loses patience; there is nothing else to wait for.
        while cache.activeOptions == .flushesAtTermination { try await Task.sleep(for: .seconds(60)) }
    }

    private static func exchange(_ request: ClientRequest, _ cache: ResponseCache) async throws -> ClientResponse {
        let interim = Interim()
        let session = Session(configuration: configuration(request, cache, interim))
        var fields = HTTPFields()
        for field in request.fields {
            if let name = HTTPField.Name(field.name) { fields.append(HTTPField(name: name, value: field.value)) }
        }
        let response = try await session.request(
            request.url, method: HTTPRequest.Method(request.method) ?? .get, headers: HeaderFields(fields),
            body: request.body.map { .data(Data($0.utf8)) }
        ).response()
        // A refresh beside it is over, too.
        await session.agent.waitUntilIdle()
        return ClientResponse(
            head: .init(status: response.status, fields: response.head.headers.plain),
            body: String(decoding: response.body, as: UTF8.self), interim: interim.heads.withLock { $0 })
    }

    private static func configuration(_ request: ClientRequest, _ cache: ResponseCache, _ interim: Interim) -> Session.Configuration {
        var configuration = Session.Configuration(agent: RequestAgent())
        configuration.proxy = .none
        configuration.cache = cache
        configuration.observers = [interim]
        configuration.options.validation = .any
        configuration.options.redirects.mode = .never
        configuration.options.retry.silentReconnect = false
        if request.isReload { configuration.options.cache.read = .revalidate }
        return configuration
    }
}

private final class Interim: RequestObserver {
    let heads = Mutex<[ClientResponse.Head]>([])

    func observe(_ event: RequestEvent) {
        guard case .informational(let head) = event.kind else { return }
        heads.withLock { $0.append(.init(status: head.status, fields: head.headers.plain)) }
    }
}

extension HTTPFields {
    fileprivate var plain: [ClientRequest.Field] { map { .init(name: $0.name.rawName, value: $0.value) } }
}
