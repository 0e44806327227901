import HTTPTypes
import ScopedNet

/// A caller who asks an honest origin through the rules of the cache, at random, and looks closely at what comes.
struct Conversation {
    /// What happened, so that a test can tell that enough did.
    struct Tally {
        var exchanges = 0
        var hits = 0
        var validations = 0
        var ranges = 0
        var joins = 0
        var staleOnFailure = 0

        static func += (left: inout Tally, right: Tally) {
            left.exchanges += right.exchanges
            left.hits += right.hits
            left.validations += right.validations
            left.ranges += right.ranges
            left.joins += right.joins
            left.staleOnFailure += right.staleOnFailure
        }
    }

    private(set) var tally = Tally()
    /// What is not as it must be.
    private(set) var complaints: [String] = []

    private let seed: UInt64
    private var random: SplitMix64
    private var origin: HonestOrigin
    private var cache = PureCache()
    private var now = WallTime(secondsSince1970: 1_800_000_000)
    private var policy = CachePolicy.standard
    /// The version that the caller's own POST has made: older ones must not come any more.
    private var oldest: [Int: Int] = [:]

    init(seed: UInt64) {
        self.seed = seed
        random = SplitMix64(seed: seed ^ 0xC0FFEE)
        origin = HonestOrigin(seed: seed, now: now.secondsSince1970)
        policy.servesStaleWhenDisconnected = random.chance(50)
    }

    mutating func run(exchanges: Int) {
        for _ in 0..<exchanges {
            now = now + random.pick([0, 0.1, 0.5, 1, 2.2, 4, 6, 20, 70])
            let index = random.pick([0, 0, 1, 2])
            if random.chance(15) { origin.change(index, now: now.secondsSince1970) }
            exchange(index)
        }
    }

    private mutating func exchange(_ index: Int) {
        let request = makeRequest(index)
        policy.read = random.chance(20) ? random.pick(CachePolicy.ReadMode.allCases) : .validOrNetwork
        let start = now
        origin.beginExchange()
        tally.exchanges += 1
        let before = origin.resources[index]
        do {
            let answer = try cache.exchange(request, policy: policy, now: now) { sent in
                let time = now
                now = now + random.pick([0, 0.05, 0.4])
                return origin.answer(sent, resource: index, sent: time, now: now)
            }
            let exchange = Exchange(
                index: index, request: request, answer: answer, replies: origin.replies, start: start, policy: policy,
                resource: origin.resources[index], oldest: oldest[index] ?? 1)
            for complaint in exchange.complaints { complain(complaint, request, answer) }
            count(exchange)
        } catch {
            let isForgiven = origin.replies.contains { $0 == nil }
            if !isForgiven { complain("\(error) although the origin answered", request, nil) }
        }
        if !request.method.isSafe, origin.replies.contains(where: { ($0?.head.status ?? 500) < 400 }) {
            oldest[index] = before.version < origin.resources[index].version ? origin.resources[index].version : oldest[index]
        }
    }

    private mutating func makeRequest(_ index: Int) -> CacheRequest {
        let url = "http://origin.test\(HonestOrigin.path(index))"
        if random.chance(6) { return CacheRequest(method: random.pick([.post, .put, .delete]), url: url) }
        var fields: HTTPFields = [.acceptLanguage: random.pick(["en", "de", "de, en", "EN"])]
        if random.chance(20) {
            fields[.cacheControl] = random.pick([
                "no-cache", "no-store", "max-age=0", "max-age=3", "min-fresh=4", "max-stale=9", "only-if-cached",
            ])
        }
        if random.chance(35) {
            fields[.range] = random.pick(["bytes=0-9", "bytes=5-14", "bytes=10-", "bytes=-7", "bytes=900-", "bytes=0-1,4-5"])
        }
        let resource = origin.resources[index]
        let version = max(1, resource.version - random.pick([0, 0, 1]))
        let tag = HonestOrigin.tag(index, version, resource.variesByLanguage ? HonestOrigin.language(for: fields) : "en")
        if random.chance(8) { fields[.ifNoneMatch] = random.pick([tag, "W/" + tag, "\"other\", " + tag]) }
        if fields.contains(.range), random.chance(30) { fields[.ifRange] = tag }
        // Without a validator nobody could tell that the response to a HEAD is about something else by now.
        let method: HTTPRequest.Method = resource.validation != .none && random.chance(12) ? .head : .get
        if method == .head { fields[.range] = nil }
        return CacheRequest(method: method, url: url, fields: fields)
    }

    private mutating func complain(_ what: String, _ request: CacheRequest, _ answer: PureCache.Answer?) {
        guard complaints.count < 5 else { return }
        let got = answer.map { "\(Self.text($0.head)) \(String(decoding: $0.body, as: UTF8.self))" } ?? "nothing"
        complaints.append(
            """
            seed \(seed), exchange \(tally.exchanges): \(what)
              asked \(request.method) \(request.url) \(request.fields.map(\.description))
              got \(got)
              origin sent \(origin.replies.map { $0.map { Self.text($0.head) } ?? "nothing" })
              resource \(origin.resources)
            """)
    }

    private static func text(_ head: CacheHead) -> String { "\(head.status) \(head.fields.map(\.description))" }

    private mutating func count(_ exchange: Exchange) {
        if exchange.replies.isEmpty, exchange.answer.head.status < 400 { tally.hits += 1 }
        if exchange.replies.contains(where: { $0?.head.status == 304 }), exchange.answer.head.status == 200 { tally.validations += 1 }
        if exchange.replies.isEmpty, exchange.answer.head.status == 206 { tally.ranges += 1 }
        if exchange.replies.contains(where: { $0?.head.status == 206 }), exchange.answer.head.status == 200 { tally.joins += 1 }
        if exchange.replies.contains(where: { ($0?.head.status ?? 500) >= 500 }), exchange.answer.head.status < 400 {
            tally.staleOnFailure += 1
        }
    }
}
