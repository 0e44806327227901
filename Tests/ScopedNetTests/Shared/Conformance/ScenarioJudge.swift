import HTTPTypes

/// Holds what a caller got and an origin saw against a scenario. Pure: knows no driver.
struct ScenarioJudge {
    let scenario: CacheScenario
    let responses: [ScenarioResponse]
    let visits: [ScenarioOrigin.Visit]

    /// What is otherwise than the scenario says, in the order of its exchanges; empty: it passed.
    var deviations: [String] {
        guard responses.count == scenario.exchanges.count else { return ["\(responses.count) of \(scenario.exchanges.count) responses"] }
        return repetitions
            + scenario.exchanges.indices.flatMap { index in
                let found = source(index) + status(index) + fields(index) + body(index) + interim(index) + request(index)
                return found.map { "exchange \(index + 1): \($0)" }
            }
    }

    /// An origin asked twice for one exchange has been asked by someone who did not know what to do with its answer.
    private var repetitions: [String] {
        scenario.exchanges.indices.compactMap { index in
            let count = visits.count { $0.exchange == index + 1 }
            return count > 1 ? "exchange \(index + 1): the origin was asked \(count) times" : nil
        }
    }

    /// The exchange in which the origin sent a response.
    private func origin(_ index: Int) -> Int? {
        responses[index].fields[text: ScenarioMark.exchange].flatMap(Int.init)
    }

    private func source(_ index: Int) -> [String] {
        let number = index + 1
        let response = responses[index]
        let visit = visits.last { $0.exchange == number }
        switch scenario.exchanges[index].expectation.source {
        case .cache:
            // A 304 that the cache made up need not bear the mark.
            if let origin = origin(index) { return origin < number ? [] : ["not from the cache"] }
            return response.status == 304 && visit == nil ? [] : ["not from the cache"]
        case .origin:
            return origin(index) == number && visit != nil ? [] : ["from the cache"]
        case .validated(let field):
            guard let visit else { return ["the origin was not asked"] }
            if visit.fields[text: field] == nil { return ["the origin was asked without \(field)"] }
            return visit.response?.status == 304 ? [] : ["the origin was asked with the wrong \(field)"]
        case .generated:
            return origin(index) == nil ? [] : ["from exchange \(origin(index) ?? 0)"]
        case nil:
            return []
        }
    }

    private func status(_ index: Int) -> [String] {
        let exchange = scenario.exchanges[index]
        let expected = exchange.expectation.status ?? exchange.answer.status
        return responses[index].status == expected ? [] : ["status \(responses[index].status), not \(expected)"]
    }

    private func fields(_ index: Int) -> [String] {
        let response = responses[index]
        let expectation = scenario.exchanges[index].expectation
        var found = lostFields(index)
        let expected = expectation.fields.resolved(now: time(index), path: scenario.path)
        for name in expectation.fields.names where response.fields[text: name] != expected[text: name] {
            found.append("\(name) is \(quoted(response.fields[text: name])), not \(quoted(expected[text: name]))")
        }
        for name in expectation.presentFields where response.fields[text: name] == nil { found.append("no \(name)") }
        for name in expectation.absentFields {
            if let value = response.fields[text: name] { found.append("\(name) is there: \(quoted(value))") }
        }
        for name in expectation.unchangedFields where response.fields[text: name] != responses[0].fields[text: name] {
            found.append("\(name) was \(quoted(responses[0].fields[text: name])) and is \(quoted(response.fields[text: name]))")
        }
        for (name, bound) in expectation.lowerBounds where (response.fields[text: name].flatMap(Int.init) ?? bound) <= bound {
            found.append("\(name) is \(quoted(response.fields[text: name])), not above \(bound)")
        }
        return found
    }

    private func time(_ index: Int) -> Int64 {
        responses[index].fields[text: ScenarioMark.time].flatMap { Int64($0) } ?? 0
    }

    private static let connectionFields: Set<String> = [
        "connection", "keep-alive", "proxy-authenticate", "proxy-authentication-info", "proxy-authorization", "proxy-connection", "te",
        "trailer", "transfer-encoding", "upgrade",
    ]

    /// A response that comes straight from the origin bears what the origin sent.
    private func lostFields(_ index: Int) -> [String] {
        guard origin(index) == index + 1, let sent = visits.last(where: { $0.exchange == index + 1 })?.response,
            sent.status == responses[index].status, sent.status != 304
        else { return [] }
        let named = (sent.fields[.connection] ?? "").lowercased().split(separator: ",").map { $0.filter { $0 != " " } }
        return Set(sent.fields.map(\.name)).sorted { $0.canonicalName < $1.canonicalName }.compactMap { name in
            if Self.connectionFields.contains(name.canonicalName) || named.contains(name.canonicalName) { return nil }
            let received = responses[index].fields[name]
            return received == sent.fields[name] ? nil : "\(name) is \(quoted(received)), not \(quoted(sent.fields[name])) as sent"
        }
    }

    private func body(_ index: Int) -> [String] {
        let response = responses[index]
        let exchange = scenario.exchanges[index]
        let expected: String
        switch exchange.expectation.body {
        case .any: return []
        case .text(let text): expected = text
        case .asAnswered:
            let isEmpty = [204, 304].contains(response.status) || exchange.method == "HEAD"
            expected = isEmpty ? "" : exchange.answer.body ?? scenario.standardBody
        }
        return response.body == expected ? [] : ["the body is \(quoted(response.body)), not \(quoted(expected))"]
    }

    private func interim(_ index: Int) -> [String] {
        guard let expected = scenario.exchanges[index].expectation.interim else { return [] }
        let received = responses[index].interim
        guard received.map(\.status) == expected.map(\.status) else {
            return ["interim responses \(received.map(\.status)), not \(expected.map(\.status))"]
        }
        return zip(expected, received).flatMap { expected, received in
            let fields = expected.fields.resolved(now: time(index), path: scenario.path)
            return expected.fields.names.filter { received.fields[text: $0] != fields[text: $0] }.map { "no \($0) in \(expected.status)" }
        }
    }

    private func request(_ index: Int) -> [String] {
        let expectation = scenario.exchanges[index].expectation
        guard expectation.requestMethod != nil || !expectation.requestFields.lines.isEmpty else { return [] }
        guard let visit = visits.last(where: { $0.exchange == index + 1 }) else { return ["the origin was not asked"] }
        var found: [String] = []
        if let method = expectation.requestMethod, visit.method != method { found.append("asked by \(visit.method), not \(method)") }
        let expected = expectation.requestFields.resolved(now: time(index), path: scenario.path)
        for name in expectation.requestFields.names where visit.fields[text: name] != expected[text: name] {
            found.append("asked with \(name) \(quoted(visit.fields[text: name])), not \(quoted(expected[text: name]))")
        }
        return found
    }

    private func quoted(_ text: String?) -> String { text.map { "\"\($0)\"" } ?? "absent" }
}
