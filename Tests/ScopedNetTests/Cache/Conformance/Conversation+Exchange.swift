import HTTPTypes
import ScopedNet

extension Conversation {
    /// What must hold of a response, known from what the origin knows of itself.
    struct Exchange {
        let index: Int
        let request: CacheRequest
        let answer: PureCache.Answer
        let replies: [PureCache.Response?]
        let start: WallTime
        let policy: CachePolicy
        let resource: HonestOrigin.Resource
        /// Older versions are known to be gone to whoever sent the POST.
        let oldest: Int

        private var status: Int { answer.head.status }
        private func number(_ name: String) -> Int? { answer.head.fields[text: name].flatMap(Int.init) }
        private var version: Int? { number(HonestOrigin.versionField) }
        private var language: String { answer.head.fields[text: HonestOrigin.languageField] ?? "en" }
        private var wasAsked: Bool { !replies.isEmpty }
        private var hasFailed: Bool { replies.contains { ($0?.head.status ?? 500) >= 500 } }
        private var control: String { request.fields[.cacheControl] ?? "" }
        private var isOffline: Bool { control == "only-if-cached" || policy.read == .only }

        var complaints: [String] {
            guard request.method.isSafe, status < 500, version != nil || status == 416 else { return errors }
            return body + condition + selection + staleness + restrictions
        }

        /// Errors come from the origin, but for those that say why the cache could not answer.
        private var errors: [String] {
            if status == 504, isOffline { return wasAsked ? ["the network was used"] : [] }
            if status == 504, replies.contains(where: { $0 == nil }) { return [] }
            let isFromOrigin = replies.contains { $0?.head.status == status }
            return isFromOrigin ? [] : ["a status of \(status) that nobody sent"]
        }

        private var body: [String] {
            guard request.method == .get, let version else { return answer.body.isEmpty ? [] : ["a body"] }
            let whole = HonestOrigin.body(index, version, language)
            switch status {
            case 200: return check(whole)
            case 206:
                let text = answer.head.fields[.contentRange] ?? ""
                guard let range = request.fields[.range].flatMap(ConversationRange.init)?.bounds(in: whole.count),
                    text == "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(whole.count)"
                else { return ["the wrong range: \(text)"] }
                return check(Array(whole[range]))
            default: return answer.body.isEmpty ? [] : ["a body"]
            }
        }

        private func check(_ expected: [UInt8]) -> [String] {
            let isRight = answer.isComplete ? answer.body == expected : expected.starts(with: answer.body)
            if let length = answer.head.fields[.contentLength], length != String(expected.count) { return ["Content-Length \(length)"] }
            return isRight ? [] : ["bytes of something else, or too few, or too many"]
        }

        /// A 304 is for callers who have what it is about, and so is a part with If-Range.
        private var condition: [String] {
            guard let version else { return [] }
            let tag = HonestOrigin.tag(index, version, language)
            if status == 206, let held = request.fields[.ifRange], held != tag { return ["a part of what the caller does not have"] }
            guard status == 304 else { return [] }
            return request.fields[.ifNoneMatch]?.contains(tag) == true ? [] : ["a 304 for what the caller does not have"]
        }

        private var selection: [String] {
            guard resource.variesByLanguage, status != 416 else { return [] }
            return language == HonestOrigin.language(for: request.fields) ? [] : ["the wrong language: \(language)"]
        }

        private var staleness: [String] {
            guard let version else { return [] }
            if version < oldest { return ["version \(version), which the caller has replaced"] }
            guard let replaced = resource.replacedAt[version] else { return [] }
            // The origin's Date has no fractions.
            let age = start.secondsSince1970 - replaced - 1
            return age <= allowance ? [] : ["version \(version), replaced \(age) s before, where \(allowance) s are allowed"]
        }

        /// For how long after its replacement a version may still come.
        private var allowance: Double {
            let stated = resource.cacheControl ?? ""
            if stated.contains("no-cache") || stated.contains("no-store") { return 0 }
            let isStrict = stated.contains("must-revalidate")
            if !isStrict, !wantsNew {
                if policy.read == .only, policy.servesStaleWhenDisconnected { return .infinity }
                if policy.read == .thenNetwork, control != "max-age=3", control != "min-fresh=4" { return .infinity }
            }
            if hasFailed, !isStrict {
                if policy.servesStaleWhenDisconnected { return .infinity }
                if stated.contains("stale-if-error") { return 25 }
            }
            var lifetime = Self.number(after: "max-age=", in: stated, notAfter: "s-") ?? 0
            if !stated.contains("max-age"), resource.validation == .date { lifetime = 86_400 }
            if wantsNew || policy.read == .none { return 0 }
            if control == "max-age=0" || policy.read == .revalidate, !stated.contains("immutable") { return 0 }
            if control == "max-age=3" { return min(lifetime, 3) }
            if control == "max-stale=9", !isStrict { lifetime += 9 }
            if stated.contains("stale-while-revalidate") { lifetime += 20 }
            return lifetime
        }

        private var wantsNew: Bool { control == "no-cache" || control == "no-store" }

        private static func number(after word: String, in text: String, notAfter prefix: String) -> Double? {
            let parts = text.split(separator: ", ").filter { $0.hasPrefix(word) && !$0.hasPrefix(prefix) }
            return parts.first.flatMap { Double($0.dropFirst(word.count)) }
        }

        private var restrictions: [String] {
            var found: [String] = []
            if isOffline, wasAsked { found.append("the network was used") }
            if policy.read == .none, !wasAsked { found.append("the cache was used") }
            if replies.count > 2 { found.append("\(replies.count) requests") }
            let stated = answer.head.fields[.cacheControl] ?? ""
            if !wasAsked, stated.contains("no-store") || stated.contains("no-cache") {
                found.append("reuse without a question of \(stated)")
            }
            if !wasAsked, status != 416 {
                let age = answer.head.fields[text: "Age"].flatMap(Double.init) ?? -10
                let today = HTTPDate(secondsSince1970: Int64(start.secondsSince1970))
                let date = answer.head.fields[.date].flatMap { HTTPDate($0, now: today) }
                let truth = date.map { start.secondsSince1970 - Double($0.secondsSince1970) } ?? 0
                if abs(truth - age) > 1.5 { found.append("an Age of \(age) for a response of \(truth) s") }
            }
            return found
        }
    }
}

extension HTTPRequest.Method {
    var isSafe: Bool { self == .get || self == .head }
}
