/// Something that the clients do not agree on. (pure)
struct Difference: Sendable {
    var exchange: String
    /// Such as `1.field.accept` or `error`.
    var aspect: String
    /// Who stands alone: the name of a client; `all` where each has something else, or where of two that have something neither is with a third.
    var who: String
    /// By client, in their order.
    var values: [(client: String, value: String)]

    /// What the outcomes of one exchange differ in.
    static func all(_ exchange: String, _ outcomes: [(client: String, outcome: Stage.Outcome)]) -> [Difference] {
        var aspects: [String] = []
        var table: [String: [String: String]] = [:]
        for (client, outcome) in outcomes {
            for (aspect, value) in facts(outcome, requests: exchange.hasPrefix("proxy/") ? 8 : 4) {
                if table[aspect] == nil { aspects.append(aspect) }
                table[aspect, default: [:]][client] = value
            }
        }
        return aspects.compactMap { aspect in
            let values = outcomes.compactMap { client, outcome -> (client: String, value: String)? in
                if let value = table[aspect]?[client] { return (client, value) }
                return speaks(of: aspect, outcome) ? (client, "–") : nil
            }
            guard let who = outlier(values, of: outcomes.count) else { return nil }
            return Difference(exchange: exchange, aspect: aspect, who: who, values: values)
        }
    }

    /// Whether a client that has no value here says something with that: a field that was not sent in a request that was.
    private static func speaks(of aspect: String, _ outcome: Stage.Outcome) -> Bool {
        let parts = aspect.split(separator: ".", maxSplits: 2)
        if parts.first == "received" { return outcome.reply.status != nil }
        guard let number = parts.first.flatMap({ Int($0) }) else { return false }
        return number <= outcome.requests.count && parts.dropFirst().first == "field"
    }

    private static func facts(_ outcome: Stage.Outcome, requests most: Int) -> [(String, String)] {
        var facts = [("requests", "\(outcome.requests.count)")]
        for (index, request) in outcome.requests.prefix(most).enumerated() {
            let number = index + 1
            facts += [
                ("\(number).origin", request.origin), ("\(number).method", request.method), ("\(number).target", request.target),
                ("\(number).body", request.body),
            ]
            facts += request.fields.sorted { $0.key < $1.key }.map { ("\(number).field.\($0.key)", $0.value) }
        }
        let reply = outcome.reply
        facts.append(("outcome", reply.error == nil ? "response" : "error"))
        if let error = reply.error { facts.append(("error", error)) }
        if let status = reply.status { facts.append(("status", "\(status)")) }
        if let body = reply.body { facts.append(("body", body)) }
        return facts + reply.fields.sorted { $0.key < $1.key }.map { ("received.\($0.key)", $0.value) }
    }

    private static func outlier(_ values: [(client: String, value: String)], of count: Int) -> String? {
        let groups = Dictionary(grouping: values, by: \.value)
        guard groups.count > 1 else { return nil }
        let alone = groups.values.filter { $0.count == 1 }
        return values.count == count && groups.count == 2 && alone.count == 1 ? alone[0][0].client : "all"
    }
}

extension Difference: CustomStringConvertible {
    var description: String {
        "\(exchange)  \(aspect)  \(who): " + values.map { "\($0.client) \($0.value.debugDescription)" }.joined(separator: "; ")
    }
}
