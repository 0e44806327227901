import HTTPTypes
import ScopedNet

/// The rules of the cache and a dictionary: no clock, no network, no store.
///
/// It decides nothing. What it does with a decision is the contract that a real store and transport have to keep as well.
struct PureCache {
    /// What comes of a request that is sent.
    enum Reply {
        case response(Response)
        case failed(at: WallTime)
    }

    struct Response {
        var head: CacheHead
        var body: [UInt8]
        /// false: the connection broke after these bytes.
        var isComplete = true
        var requestTime: WallTime
        var responseTime: WallTime
    }

    /// What the caller gets.
    struct Answer {
        var head: CacheHead
        var body: [UInt8]
        var isComplete = true
    }

    struct Unreachable: Error {}
    struct NoKey: Error {}

    private struct Entry {
        /// Entries come and go while a request is under way: an index of then is nothing to go by.
        let id: Int
        var response: StoredResponse
        var body: [UInt8]
    }

    private var entries: [CacheKey: [Entry]] = [:]
    private var entryCount = 0

    /// Sends a request through the cache at the time `now`. The network is asked for what is to be sent, at most twice.
    mutating func exchange(
        _ request: CacheRequest, policy: CachePolicy, now: WallTime, network: (CacheRequest) -> Reply
    ) throws -> Answer {
        // That the hash keeps secrets is another test's business; here it has to tell values apart.
        let strategy = CacheStrategy(policy: policy) { bytes in bytes.map { String($0) }.joined(separator: ".") }
        guard let key = strategy.key(for: request) else { throw NoKey() }
        let held = entries[key] ?? []
        switch strategy.decide(request, candidates: held.map(\.response), now: now) {
        case .serve(let answer):
            return served(answer, held)
        case .serveAndForward(let answer, let forward):
            // Its failure is nobody's: the caller has an answer.
            _ = try? send(forward, key, held, network)
            return served(answer, held)
        case .forward(let forward):
            return try send(forward, key, held, network)
        case .unavailable(let head, _):
            return Answer(head: head, body: [])
        }
    }

    /// Asks the origin, keeps what is to be kept, and gives what the caller gets.
    private mutating func send(
        _ forward: CacheForward, _ key: CacheKey, _ held: [Entry], _ network: (CacheRequest) -> Reply
    ) throws -> Answer {
        switch network(forward.request) {
        case .failed(let now):
            switch forward.failed(now: now) {
            case .fail: throw Unreachable()
            case .stored(let answer): return served(answer, held)
            case .unavailable(let head, _): return Answer(head: head, body: [])
            }
        case .response(let reply):
            let outcome = forward.received(reply.head, requestTime: reply.requestTime, responseTime: reply.responseTime)
            keep(outcome, of: forward, reply, key, held)
            switch outcome.answer {
            case .received: return Answer(head: reply.head, body: reply.body, isComplete: reply.isComplete)
            case .stored(let answer): return served(answer, held)
            case .joined(let head, let pieces):
                return Answer(head: head, body: joined(pieces, reply.body, held), isComplete: reply.isComplete)
            case .again(let forward): return try send(forward, key, held, network)
            }
        }
    }

    private mutating func keep(
        _ outcome: CacheOutcome, of forward: CacheForward, _ reply: Response, _ key: CacheKey, _ held: [Entry]
    ) {
        for key in outcome.invalidation?.keys ?? [] { entries[key] = nil }
        remove(outcome.removals, of: held, key)
        for update in outcome.updates {
            let id = held[update.candidate].id
            guard let index = entries[key]?.firstIndex(where: { $0.id == id }) else { continue }
            entries[key]?[index].response = update.response
        }
        guard case .store(let pending, let pieces, let replaced) = outcome.storage else { return }
        let length = Int64(reply.body.count)
        guard let stored = reply.isComplete ? pending.completed(bodyLength: length) : pending.interrupted(after: length) else { return }
        remove(forward.leaving(replaced, for: stored), of: held, key)
        entryCount += 1
        let body = joined(reply.isComplete ? pieces : Array(pieces.prefix { $0 != .received }) + [.received], reply.body, held)
        entries[key, default: []].append(Entry(id: entryCount, response: stored, body: body))
    }

    private mutating func remove(_ indices: [Int], of held: [Entry], _ key: CacheKey) {
        let ids = indices.map { held[$0].id }
        entries[key]?.removeAll { ids.contains($0.id) }
    }

    private func joined(_ pieces: [BodyPiece], _ received: [UInt8], _ held: [Entry]) -> [UInt8] {
        pieces.flatMap { piece in
            switch piece {
            case .received: received
            case .stored(let candidate, let range): Array(held[candidate].body[Int(range.lowerBound)..<Int(range.upperBound)])
            }
        }
    }

    private func served(_ answer: CachedAnswer, _ held: [Entry]) -> Answer {
        let body = held[answer.candidate].body
        return switch answer.body {
        case .none: Answer(head: answer.head, body: [])
        case .whole: Answer(head: answer.head, body: body)
        case .slice(let range): Answer(head: answer.head, body: Array(body[Int(range.lowerBound)..<Int(range.upperBound)]))
        }
    }
}
