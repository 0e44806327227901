import HTTPTypes

@testable import ScopedNet

/// A cache as the rules want it driven, in memory and on a clock moved by hand: what its tests are about is the rules.
struct CacheTable {
    /// A response of the server.
    struct Reply {
        var head: CacheHead
        var body: String
        /// How many bytes come before the connection breaks; nil is all.
        var brokenAfter: Int?

        init(_ status: Int = 200, _ fields: HTTPFields = [:], body: String = "", brokenAfter: Int? = nil) {
            head = CacheHead(status: status, fields: fields)
            self.body = body
            self.brokenAfter = brokenAfter
        }
    }

    /// What the caller got.
    struct Given {
        var status: Int?
        var fields: HTTPFields = [:]
        var body = ""
        /// What reached the server.
        var sent: [CacheRequest] = []
        var cacheStatus = ResponseCache.Status()
        /// The body broke off.
        var isBroken = false
        /// Of what went on beside the answer.
        var beside: [CacheRequest] = []
        /// What that gave: the second delivery of a caller who wanted one.
        var second: Second?
    }

    struct Second: Equatable {
        var status: Int?
        var body: String
    }

    struct Entry {
        var response: StoredResponse
        var body: [UInt8]
        let id: Int
    }

    static let start = WallTime(secondsSince1970: 1_718_452_800)

    var strategy: CacheStrategy
    var now = Self.start
    var shelf: [CacheKey: [Entry]] = [:]
    private var lastID = 0

    init(_ policy: CachePolicy = .standard) {
        strategy = CacheStrategy(policy: policy) { bytes in "hash\(bytes.reduce(7) { ($0 &* 31) &+ Int($1) })" }
    }

    var policy: CachePolicy {
        get { strategy.policy }
        set { strategy = CacheStrategy(policy: newValue, hashSecret: strategy.hashSecret) }
    }

    func entries(_ url: String = "http://a.test/") -> [Entry] {
        strategy.key(for: CacheRequest(url: url)).flatMap { shelf[$0] } ?? []
    }

    /// The date of the clock plus so many seconds, as in a field.
    func date(_ seconds: Double = 0) -> String { (now + seconds).date.description }

    mutating func wait(_ seconds: Double) { now = now + seconds }

    /// One request, answered by `server` wherever the rules want it sent. Nil is a server that cannot be reached.
    mutating func send(
        _ method: HTTPRequest.Method = .get, _ url: String = "http://a.test/", _ fields: HTTPFields = [:],
        server: (CacheRequest) -> Reply?
    ) -> Given {
        let request = CacheRequest(method: method, url: url, fields: fields)
        let key = strategy.key(for: request)
        let entries = key.flatMap { shelf[$0] } ?? []
        switch strategy.decide(request, candidates: entries.map(\.response), now: now) {
        case .serve(let answer): return given(answer, entries)
        case .serveAndForward(let answer, let forward):
            var given = given(answer, entries)
            let second = exchange(forward, key, entries, server)
            given.beside = second.sent
            given.second = Second(status: second.status, body: second.body)
            return given
        case .forward(let forward): return exchange(forward, key, entries, server)
        case .unavailable(let head, let status): return Given(status: head.status, fields: head.fields, cacheStatus: status)
        }
    }

    private mutating func exchange(
        _ forward: CacheForward, _ key: CacheKey?, _ entries: [Entry], _ server: (CacheRequest) -> Reply?
    ) -> Given {
        guard let reply = server(forward.request) else {
            var given: Given
            switch forward.failed(now: now) {
            case .fail: given = Given(status: nil)
            case .stored(let answer): given = self.given(answer, entries)
            case .unavailable(let head, let status): given = Given(status: head.status, fields: head.fields, cacheStatus: status)
            }
            given.sent = [forward.request]
            return given
        }
        let outcome = forward.received(reply.head, requestTime: now, responseTime: now)
        for key in outcome.invalidation?.keys ?? [] { shelf[key] = [] }
        for index in outcome.removals { drop(entries[index].id, key) }
        for update in outcome.updates { replace(entries[update.candidate].id, update.response, key) }
        let isKept = commit(outcome, reply, key, entries, forward)
        var given: Given
        switch outcome.answer {
        case .received:
            given = Given(status: reply.head.status, fields: reply.head.fields, body: reply.came, isBroken: reply.brokenAfter != nil)
        case .stored(let answer):
            let current = entries.map { entry in key.flatMap { shelf[$0] }?.first { $0.id == entry.id } ?? entry }
            given = self.given(answer, current)
        case .joined(let head, let pieces):
            let body = Self.text(pieces, entries, reply)
            given = Given(status: head.status, fields: head.fields, body: body, isBroken: reply.brokenAfter != nil)
        case .again(let again):
            given = exchange(again, key, entries, server)
            given.sent.insert(forward.request, at: 0)
            return given
        }
        given.sent = [forward.request]
        given.cacheStatus = outcome.status
        given.cacheStatus.isStored = outcome.status.isStored && (outcome.storage.reason != nil || isKept)
        return given
    }

    private mutating func commit(
        _ outcome: CacheOutcome, _ reply: Reply, _ key: CacheKey?, _ entries: [Entry], _ forward: CacheForward
    ) -> Bool {
        guard let key, case .store(let pending, let pieces, let replacing) = outcome.storage else { return false }
        let length = Int64(reply.came.utf8.count)
        guard let stored = reply.brokenAfter == nil ? pending.completed(bodyLength: length) : pending.interrupted(after: length) else {
            return false
        }
        for index in forward.leaving(replacing, for: stored) { drop(entries[index].id, key) }
        lastID += 1
        let body = Array(Self.text(pieces, entries, reply).utf8)
        shelf[key, default: []].append(Entry(response: stored, body: body, id: lastID))
        return true
    }

    private static func text(_ pieces: [BodyPiece], _ entries: [Entry], _ reply: Reply) -> String {
        var body: [UInt8] = []
        for piece in pieces {
            switch piece {
            case .received: body += Array(reply.came.utf8)
            case .stored(let index, let range): body += entries[index].body[Int(range.lowerBound)..<Int(range.upperBound)]
            }
            // What was to come behind a break is not there.
            if piece == .received, reply.brokenAfter != nil { break }
        }
        return String(decoding: body, as: UTF8.self)
    }

    private mutating func drop(_ id: Int, _ key: CacheKey?) {
        if let key { shelf[key]?.removeAll { $0.id == id } }
    }

    private mutating func replace(_ id: Int, _ response: StoredResponse, _ key: CacheKey?) {
        guard let key, let index = shelf[key]?.firstIndex(where: { $0.id == id }) else { return }
        shelf[key]?[index].response = response
    }

    private func given(_ answer: CachedAnswer, _ entries: [Entry]) -> Given {
        let bytes = entries[answer.candidate].body
        let body: [UInt8] =
            switch answer.body {
            case .none: []
            case .whole: bytes
            case .slice(let range): Array(bytes[Int(range.lowerBound)..<Int(range.upperBound)])
            }
        return Given(
            status: answer.head.status, fields: answer.head.fields, body: String(decoding: body, as: UTF8.self), cacheStatus: answer.status)
    }
}

extension CacheTable.Reply {
    /// The bytes that came.
    var came: String { brokenAfter.map { String(body.prefix($0)) } ?? body }
}

extension CacheTable {
    /// A GET that is answered, as the first of a test.
    mutating func store(_ reply: Reply, _ url: String = "http://a.test/", _ fields: HTTPFields = [:]) {
        _ = send(.get, url, fields) { _ in reply }
    }

    /// A request that must not reach the server; what it gives otherwise shows in `sent`.
    mutating func ask(_ fields: HTTPFields = [:], _ method: HTTPRequest.Method = .get, _ url: String = "http://a.test/") -> Given {
        send(method, url, fields) { _ in Reply(200, body: "from the server") }
    }

    /// Whether such a request is answered without the server.
    mutating func hits(_ fields: HTTPFields = [:], _ method: HTTPRequest.Method = .get, _ url: String = "http://a.test/") -> Bool {
        ask(fields, method, url).sent.isEmpty
    }
}

extension HTTPFields {
    /// Lines as one writes them: `["Cache-Control: max-age=5", "Vary: A"]`. Values byte for byte as Latin-1.
    init(lines: [String]) {
        self.init()
        for line in lines {
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let name = HTTPField.Name(String(parts[0])) else { continue }
            append(FieldText.field(name, String(FieldText.trimmed(parts[1]))))
        }
    }

    subscript(_ name: String) -> String? { HTTPField.Name(name).flatMap { self[$0] } }
}
