import CleanSlate
import Foundation
import HTTPTypes
import Persistence
import Synchronization
import Testing

@_spi(Transport) @testable import ScopedNet

/// The way of one exchange through a cache, with a real store and without a session.
@Suite(.leavesNothing)
final class CacheTransactionTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "transaction-\(UUID().uuidString)")
    private let now: Now
    private let cache: ResponseCache

    private final class Now: Sendable {
        private let seconds = Mutex(1_700_000_000.0)
        var time: WallTime { WallTime(secondsSince1970: seconds.withLock { $0 }) }
        func pass(_ time: Double) { seconds.withLock { $0 += time } }
    }

    init() {
        let now = Now()
        self.now = now
        cache = ResponseCache(StoreConfiguration(directory: folder.path), clock: { now.time })
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    // MARK: Helpers

    private func entry(
        _ request: CacheRequest, _ policy: CachePolicy = .standard, for consumer: CacheInquiry.Consumer = .memory,
        readsNothing: Bool = false
    ) -> CacheInquiry.Entry {
        CacheInquiry.entry(request, policy, readsNothing: readsNothing, cache, for: consumer) { $0.key(for: request) }
    }

    private func inquiry(
        _ request: CacheRequest, _ policy: CachePolicy = .standard, for consumer: CacheInquiry.Consumer = .memory
    ) throws -> CacheInquiry {
        guard case .ask(let inquiry) = entry(request, policy, for: consumer) else { throw Unexpected() }
        return inquiry
    }

    private func ask(_ request: CacheRequest, _ policy: CachePolicy = .standard, for consumer: CacheInquiry.Consumer = .memory) throws
        -> CacheInquiry.Step
    {
        let inquiry = try inquiry(request, policy, for: consumer)
        return inquiry.answered(cache.cached(inquiry.key) ?? cache.load(inquiry.key))
    }

    private func sent(_ request: CacheRequest, _ policy: CachePolicy = .standard, for consumer: CacheInquiry.Consumer = .memory) throws
        -> CacheTransaction
    {
        guard case .send(let transaction) = try ask(request, policy, for: consumer) else { throw Unexpected() }
        return transaction
    }

    private struct Unexpected: Error {
        let line: Int
        init(line: Int = #line) { self.line = line }
    }

    private let get = CacheRequest(url: "http://host.test/")

    private func head(_ status: Int = 200, _ fields: HTTPFields) -> ResponseHead {
        var fields = fields
        fields[.date] = HTTPDate(secondsSince1970: Int64(now.time.secondsSince1970)).description
        return ResponseHead(status: status, headers: fields)
    }

    /// Stores a response to `get` by the way of a transaction.
    private func store(_ fields: HTTPFields, _ body: String = "stored") throws {
        let transaction = try sent(get)
        let head = head(200, fields)
        guard case .pass = transaction.receive(head), transaction.stores else { throw Unexpected() }
        guard transaction.store(Data(body.utf8), isComplete: true, of: head) else { throw Unexpected() }
    }

    // MARK: The way in

    @Test("who goes through the cache, and who is asked about")
    func entries() throws {
        let post = CacheRequest(method: .post, url: "http://host.test/", hasBody: true)
        guard case .ask = entry(get), case .askNothing = entry(post), case .askNothing = entry(get, .off) else { throw Unexpected() }
        guard case .pass = entry(get, for: .stream), case .askNothing = entry(post, for: .stream) else { throw Unexpected() }
        var only = CachePolicy.standard
        only.read = .only
        guard case .refuseStream = entry(get, only, for: .stream) else { throw Unexpected() }
        let hushed = CacheRequest(url: "http://host.test/", fields: [.cacheControl: "only-if-cached"])
        guard case .refuseStream = entry(hushed, for: .stream) else { throw Unexpected() }
        let keyless = CacheInquiry.entry(get, .standard, readsNothing: false, cache, for: .memory) { _ in nil }
        guard case .pass = keyless else { throw Unexpected() }
    }

    @Test("a request is shared only where its answer can be another's")
    func sharing() throws {
        #expect(try inquiry(get).mayBeShared)
        #expect(try !inquiry(get, for: .file).mayBeShared)
        for field in [HTTPField.Name.range, .ifNoneMatch, .ifModifiedSince] {
            #expect(try !inquiry(CacheRequest(url: "http://host.test/", fields: [field: "bytes=0-1"])).mayBeShared)
        }
        #expect(try !inquiry(CacheRequest(method: .head, url: "http://host.test/")).mayBeShared)
        var alone = CachePolicy.standard
        alone.coalescesRequests = false
        #expect(try !inquiry(get, alone).mayBeShared)
        // One that may read nothing of what is stored can still ask for others.
        guard case .ask(let authenticated) = entry(get, readsNothing: true) else { throw Unexpected() }
        #expect(authenticated.mayBeShared)
    }

    @Test("a response that is stored answers the next request, and not one that reads nothing")
    func hit() throws {
        try store([.cacheControl: "max-age=60"])
        guard case .serve(let answer, let use) = try ask(get), let range = use.range(of: answer) else { throw Unexpected() }
        #expect(use.found.entries[answer.candidate].bytes(range) == Data("stored".utf8) && !answer.isStale)
        guard case .ask(let inquiry) = entry(get, readsNothing: true),
            case .send = inquiry.answered(cache.cached(inquiry.key) ?? cache.load(inquiry.key))
        else { throw Unexpected() }
        now.pass(61)
        guard case .send = try ask(get) else { throw Unexpected() }
    }

    @Test("without the network there is what is stored, or a 504")
    func offline() throws {
        var only = CachePolicy.standard
        only.read = .only
        guard case .unavailable(let head, _) = try ask(get, only) else { throw Unexpected() }
        #expect(head.status == 504)
        try store([.cacheControl: "max-age=60"])
        guard case .serve = try ask(get, only) else { throw Unexpected() }
    }

    @Test("a stale answer is served while it is refreshed, but never to a file")
    func staleWhileRevalidate() throws {
        try store([.cacheControl: "max-age=60, stale-while-revalidate=60"])
        now.pass(61)
        guard case .serveAndRefresh(let answer, _, let refresh) = try ask(get) else { throw Unexpected() }
        #expect(answer.isStale && refresh.isRefresh)
        #expect(try !sent(get, for: .file).isRefresh)
        var both = CachePolicy.standard
        both.read = .thenNetwork
        guard case .serveFirst(_, _, let transaction) = try ask(get, both) else { throw Unexpected() }
        #expect(!transaction.isRefresh)
    }

    // MARK: The answer

    @Test("a 304 serves what is stored, and its body is nothing")
    func notModified() throws {
        try store([.cacheControl: "max-age=60", .eTag: "\"1\""])
        now.pass(61)
        let transaction = try sent(get)
        #expect(transaction.forward.request.fields[.ifNoneMatch] == "\"1\"")
        guard case .discard = transaction.receive(head(304, [.cacheControl: "max-age=60", .eTag: "\"1\""])),
            case .serve(_, isValidated: true) = transaction.endStep
        else { throw Unexpected() }
        #expect(transaction.changesStored)
        transaction.applyChanges()
        // It is fresh again.
        guard case .serve = try ask(get) else { throw Unexpected() }
    }

    @Test("an error is taken for a stale answer where the server allowed that, and says nothing of it")
    func staleIfError() throws {
        try store([.cacheControl: "max-age=60, stale-if-error=60"])
        now.pass(61)
        let broken = try sent(get)
        guard case .discard = broken.receive(head(503, [:])) else { throw Unexpected() }
        guard case .serve(_, isValidated: false) = broken.endStep else { throw Unexpected() }
        var strict = CachePolicy.standard
        strict.servesStaleWhenDisconnected = false
        for (code, isServed) in [(NetworkError.Code.connectionRefused, true), (.firstByteTimeout, true), (.tlsFailed, false)] {
            let step = try sent(get, strict).failed(NetworkError(code, phase: .connecting, message: ""))
            if case .serve = step { #expect(isServed) } else { #expect(!isServed) }
        }
        var error = NetworkError(.connectionLost, phase: .receiving, message: "")
        error.response = head(200, [:])
        guard case .fail = try sent(get, strict).failed(error) else { throw Unexpected() }
        now.pass(60)
        let refused = NetworkError(.connectionRefused, phase: .connecting, message: "")
        guard case .fail = try sent(get, strict).failed(refused) else { throw Unexpected() }
        // Also under a policy that serves stale answers to the disconnected: the server has said for how long.
        guard case .fail = try sent(get).failed(refused) else { throw Unexpected() }
    }

    @Test("an exchange whose head has come fails by itself")
    func failureAfterHead() throws {
        try store([.cacheControl: "max-age=60, stale-if-error=60"])
        now.pass(61)
        let transaction = try sent(get)
        _ = transaction.receive(head(200, [:]))
        guard case .fail = transaction.failed(NetworkError(.connectionLost, phase: .receiving, message: "")) else {
            throw Unexpected()
        }
    }

    @Test("a beginning that is stored is gone on with, in memory and not in a file")
    func joining() throws {
        let first = try sent(get)
        let whole = head(200, [.cacheControl: "max-age=60", .eTag: "\"1\"", .contentLength: "6", .acceptRanges: "bytes"])
        _ = first.receive(whole)
        #expect(first.store(Data("sto".utf8), isComplete: false, of: whole))
        let rest = try sent(get)
        #expect(rest.forward.request.fields[.range] == "bytes=3-")
        #expect(try sent(get, for: .file).forward.request.fields[.range] == nil)
        let part = head(206, [.eTag: "\"1\"", .contentRange: "bytes 3-5/6", .contentLength: "3", .cacheControl: "max-age=60"])
        guard case .join = rest.receive(part), case .join(let joined, let pieces) = rest.endStep else { throw Unexpected() }
        #expect(joined.status == 200 && rest.joined(pieces, Data("red".utf8)) == Data("stored".utf8))
        #expect(rest.readsStoredBodies)
    }

    @Test("an unsafe method throws away with its head what it has made wrong")
    func invalidation() throws {
        try store([.cacheControl: "max-age=60"])
        let post = CacheRequest(method: .post, url: "http://host.test/", hasBody: true)
        for (status, isKept) in [(500, true), (204, false)] {
            guard case .askNothing(let inquiry) = entry(post),
                case .send(let transaction) = inquiry.answered(CacheLookupResult(ticket: nil))
            else { throw Unexpected() }
            guard case .pass = transaction.receive(head(status, [:])) else { throw Unexpected() }
            #expect(!transaction.stores)
            if case .serve = try ask(get) { #expect(isKept) } else { #expect(!isKept) }
        }
    }

    @Test("a streamed answer that is not accepted leaves the way to another attempt")
    func streams() throws {
        let post = CacheRequest(method: .post, url: "http://host.test/", hasBody: true)
        guard case .askNothing(let inquiry) = entry(post, for: .stream),
            case .send(let transaction) = inquiry.answered(CacheLookupResult(ticket: nil))
        else { throw Unexpected() }
        try store([.cacheControl: "max-age=60"])
        _ = transaction.receive(streamed: head(500, [:]), isAccepted: false)
        #expect(transaction.outcome == nil)
        guard case .serve = try ask(get) else { throw Unexpected() }
        _ = transaction.receive(streamed: head(200, [:]), isAccepted: true)
        #expect(transaction.outcome != nil && !transaction.stores)
        guard case .send = try ask(get) else { throw Unexpected() }
    }
}
