import HTTPTypes
import ScopedNet

/// An origin whose resources change, which tells the truth about them, and which fails now and then.
///
/// Every byte and every field says which version of which resource it is of, so that whoever holds a response can tell whether its
/// parts belong together, and how old it is.
struct HonestOrigin {
    /// How responses can be recognised.
    enum Validation: CaseIterable {
        case strongTag, weakTag, date, none
    }

    struct Resource {
        var cacheControl: String?
        var validation: Validation
        var variesByLanguage: Bool
        var hasRanges: Bool
        var version = 1
        /// When the current version came to be, in whole seconds.
        var changedAt: Double
        /// When the versions before it ceased to be current.
        var replacedAt: [Int: Double] = [:]
        var modifiedAt: [Int: Double] = [:]
    }

    static let versionField = "X-Version"
    static let languageField = "X-Language"
    static let serialField = "X-Serial"

    var resources: [Resource]
    var random: SplitMix64
    /// Chances in a hundred that no response comes, that it is an error, that its body breaks off.
    var faults = (unreachable: 6, error: 6, broken: 12)
    /// What was sent for the exchange under way; nil: nothing came.
    private(set) var replies: [PureCache.Response?] = []
    private(set) var serial = 0

    init(seed: UInt64, now: Double) {
        random = SplitMix64(seed: seed)
        resources = []
        for _ in 0..<3 {
            let policies = [
                "max-age=0", "max-age=5", "max-age=60", "max-age=600, immutable", "no-cache", "no-store", "max-age=5, must-revalidate",
                "max-age=5, stale-while-revalidate=20", "max-age=5, stale-if-error=20", "private, max-age=30", "s-maxage=100",
            ]
            let cacheControl = random.chance(12) ? nil : random.pick(policies)
            let validation = random.chance(40) ? .strongTag : random.pick(Validation.allCases)
            resources.append(
                Resource(
                    cacheControl: cacheControl, validation: validation, variesByLanguage: random.chance(35),
                    hasRanges: random.chance(75), changedAt: now - 1000, modifiedAt: [1: now - 1000]))
        }
    }

    mutating func beginExchange() { replies = [] }

    /// Puts a new version in the place of a resource. Dates tell versions apart by seconds, so that they must not follow too closely.
    mutating func change(_ index: Int, now: Double) {
        guard now - resources[index].changedAt >= 2 else { return }
        let version = resources[index].version
        resources[index].replacedAt[version] = now
        resources[index].version = version + 1
        resources[index].changedAt = now
        resources[index].modifiedAt[version + 1] = now.rounded(.down)
    }

    static func language(for fields: HTTPFields) -> String {
        (fields[.acceptLanguage] ?? "").lowercased().contains("de") ? "de" : "en"
    }

    static func body(_ index: Int, _ version: Int, _ language: String) -> [UInt8] {
        let word = Array("<\(index).\(version).\(language)>".utf8)
        // Versions are often of one length, which must not be taken for a sign that they are one.
        return (0..<(40 + version / 4 * 7 % 23)).map { word[$0 % word.count] ^ UInt8(truncatingIfNeeded: $0 / word.count) }
    }

    static func tag(_ index: Int, _ version: Int, _ language: String) -> String { "\"\(index).\(version).\(language)\"" }

    /// Answers a request that arrives at `sent` and is answered at `now`.
    mutating func answer(_ request: CacheRequest, resource index: Int, sent: WallTime, now: WallTime) -> PureCache.Reply {
        guard !random.chance(faults.unreachable) else {
            replies.append(nil)
            return .failed(at: now)
        }
        var reply = makeReply(request, index, sent: sent, now: now)
        if request.method == .head { reply.body = [] }
        if !reply.body.isEmpty, request.method == .get, random.chance(faults.broken) {
            reply.body = Array(reply.body.prefix(Int.random(in: 0..<reply.body.count, using: &random)))
            reply.isComplete = false
        }
        replies.append(reply)
        return .response(reply)
    }

    private mutating func makeReply(_ request: CacheRequest, _ index: Int, sent: WallTime, now: WallTime) -> PureCache.Response {
        serial += 1
        let serial = serial
        // A server may leave it out of the answer to a HEAD.
        let isCounted = request.method != .head || random.chance(50)
        func reply(_ status: Int, _ fields: HTTPFields, _ body: [UInt8] = []) -> PureCache.Response {
            var fields = fields
            fields[.date] = HTTPDate(secondsSince1970: Int64(now.secondsSince1970.rounded(.down))).description
            fields[text: Self.serialField] = String(serial)
            if status != 304, isCounted { fields[.contentLength] = String(body.count) }
            return .init(head: CacheHead(status: status, fields: fields), body: body, requestTime: sent, responseTime: now)
        }
        if random.chance(faults.error) { return reply(random.pick([500, 503, 504]), [:], Array("an error".utf8)) }
        guard request.method == .get || request.method == .head else {
            change(index, now: now.secondsSince1970)
            return created(index, reply)
        }
        let resource = resources[index]
        let language = resource.variesByLanguage ? Self.language(for: request.fields) : "en"
        let fields = fields(of: index, language)
        let body = Self.body(index, resource.version, language)
        if isUnchanged(request.fields, fields, now: now) { return reply(304, fields) }
        guard request.method == .get, resource.hasRanges, let range = request.fields[.range], rangeCounts(request.fields, fields) else {
            return reply(200, fields, body)
        }
        return partial(range, fields, body, reply)
    }

    /// What a POST brings: word that it is done, what a GET would get now, or what a GET of something else would get.
    private mutating func created(
        _ index: Int, _ reply: (Int, HTTPFields, [UInt8]) -> PureCache.Response
    ) -> PureCache.Response {
        guard random.chance(60) else { return reply(random.pick([200, 201]), [:], Array("done".utf8)) }
        let shown = random.pick([index, index, (index + 1) % resources.count])
        var fields = fields(of: shown, "en")
        fields[text: "Content-Location"] = Self.path(shown)
        return reply(200, fields, Self.body(shown, resources[shown].version, "en"))
    }

    static func path(_ index: Int) -> String { "/resource/\(index)" }

    private func fields(of index: Int, _ language: String) -> HTTPFields {
        let resource = resources[index]
        var fields: HTTPFields = [.contentType: "text/plain"]
        fields[text: Self.versionField] = String(resource.version)
        fields[text: Self.languageField] = language
        if let cacheControl = resource.cacheControl { fields[.cacheControl] = cacheControl }
        if resource.variesByLanguage { fields[.vary] = "Accept-Language" }
        if resource.hasRanges { fields[.acceptRanges] = "bytes" }
        let modified = HTTPDate(secondsSince1970: Int64(resource.modifiedAt[resource.version] ?? 0)).description
        let tag = Self.tag(index, resource.version, language)
        switch resource.validation {
        case .strongTag: fields[.eTag] = tag
        case .weakTag: fields[.eTag] = "W/" + tag
        case .date: fields[.lastModified] = modified
        case .none: break
        }
        return fields
    }

    private func isUnchanged(_ request: HTTPFields, _ fields: HTTPFields, now: WallTime) -> Bool {
        if let tags = request[.ifNoneMatch] {
            guard let tag = fields[.eTag] else { return false }
            return tags.split(separator: ", ").contains { $0.drop(while: { $0 != "\"" }) == tag.drop(while: { $0 != "\"" }) }
        }
        let today = HTTPDate(secondsSince1970: Int64(now.secondsSince1970))
        guard let since = request[.ifModifiedSince].flatMap({ HTTPDate($0, now: today) }),
            let modified = fields[.lastModified].flatMap({ HTTPDate($0, now: today) })
        else { return false }
        return modified <= since
    }

    /// RFC 9110 section 13.1.5.
    private func rangeCounts(_ request: HTTPFields, _ fields: HTTPFields) -> Bool {
        guard let condition = request[.ifRange] else { return true }
        return condition == fields[.eTag] && !condition.hasPrefix("W/") || condition == fields[.lastModified]
    }

    private func partial(
        _ range: String, _ fields: HTTPFields, _ body: [UInt8], _ reply: (Int, HTTPFields, [UInt8]) -> PureCache.Response
    ) -> PureCache.Response {
        guard let bounds = ConversationRange(range)?.bounds(in: body.count) else {
            guard ConversationRange(range) != nil else { return reply(200, fields, body) }
            var fields = fields
            fields[.contentRange] = "bytes */\(body.count)"
            return reply(416, fields, [])
        }
        var fields = fields
        fields[.contentRange] = "bytes \(bounds.lowerBound)-\(bounds.upperBound - 1)/\(body.count)"
        return reply(206, fields, Array(body[bounds]))
    }
}

/// `bytes=1-2`, `bytes=1-`, `bytes=-2`: read here by other means than in the library, which is on trial.
struct ConversationRange {
    private var first: Int?
    private var last: Int?

    init?(_ text: String) {
        let ends = text.dropFirst("bytes=".count).split(separator: "-", omittingEmptySubsequences: false)
        guard text.hasPrefix("bytes="), ends.count == 2, ends != ["", ""] else { return nil }
        (first, last) = (Int(ends[0]), Int(ends[1]))
    }

    /// nil: outside of the body.
    func bounds(in length: Int) -> Range<Int>? {
        guard let first else { return last.flatMap { $0 > 0 && length > 0 ? max(0, length - $0)..<length : nil } }
        return first < length ? first..<min(length, (last ?? length) + 1) : nil
    }
}
