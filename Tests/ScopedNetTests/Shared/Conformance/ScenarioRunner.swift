import HTTPTypes

/// Runs scenarios through drivers.
struct ScenarioRunner: Sendable {
    /// Makes a driver with an empty cache before the origin of a scenario.
    let makeDriver: @Sendable (CacheScenario) async throws -> any CacheScenarioDriver

    /// Runs scenarios, `atOnce` at a time, and counts. What a driver throws is a deviation. Where pauses are real, most of the time is
    /// waiting.
    func run(_ scenarios: [CacheScenario], atOnce: Int = 1) async -> ConformanceScore {
        ConformanceScore(scenarios: scenarios, deviations: await deviations(of: scenarios, atOnce: atOnce))
    }

    /// Runs scenarios and gives what is otherwise than each says, by its id.
    func deviations(of scenarios: [CacheScenario], atOnce: Int = 1) async -> [String: [String]] {
        await withTaskGroup(of: (String, [String]).self) { group in
            var results: [String: [String]] = [:]
            var waiting = scenarios.makeIterator()
            for _ in 0..<max(1, atOnce) {
                if let scenario = waiting.next() { group.addTask { (scenario.id, await run(scenario)) } }
            }
            while let (id, deviations) = await group.next() {
                results[id] = deviations
                if let scenario = waiting.next() { group.addTask { (scenario.id, await run(scenario)) } }
            }
            return results
        }
    }

    /// Runs a scenario and gives what is otherwise than it says.
    func run(_ scenario: CacheScenario) async -> [String] {
        var responses: [ScenarioResponse] = []
        do {
            let driver = try await makeDriver(scenario)
            for (index, exchange) in scenario.exchanges.enumerated() {
                let request = makeRequest(exchange, number: index + 1, of: scenario, after: responses.last)
                responses.append(try await driver.exchange(request))
                if exchange.pause > 0 { try await driver.pause(seconds: exchange.pause) }
            }
            return ScenarioJudge(scenario: scenario, responses: responses, visits: try await driver.visits()).deviations
        } catch {
            return ["exchange \(responses.count + 1): \(error)"]
        }
    }

    /// A request's dates are told from the clock in the response before it, as a caller would.
    private func makeRequest(
        _ exchange: CacheScenario.Exchange, number: Int, of scenario: CacheScenario, after previous: ScenarioResponse?
    ) -> ScenarioRequest {
        let now = previous?.fields[text: ScenarioMark.time].flatMap { Int64($0) } ?? 0
        let mark: ScenarioFields = .line(ScenarioMark.exchange, String(number))
        return ScenarioRequest(
            method: exchange.method, target: scenario.path + exchange.suffix,
            fields: (exchange.fields + mark).resolved(now: now, path: scenario.path), body: exchange.body, isReload: exchange.isReload)
    }
}
