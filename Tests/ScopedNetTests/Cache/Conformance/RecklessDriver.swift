import HTTPTypes

/// A cache that gives what it got first, whatever it was and whoever asks.
actor RecklessDriver: CacheScenarioDriver {
    private var origin: ScenarioOrigin
    private var first: ScenarioResponse?
    private var now: Int64 = 1_800_000_000

    init(_ scenario: CacheScenario) {
        origin = ScenarioOrigin(scenario)
    }

    func exchange(_ request: ScenarioRequest) throws -> ScenarioResponse {
        if let first { return first }
        guard let response = origin.answer(method: request.method, fields: request.fields, now: now) else {
            throw UncachedDriver.Disconnected()
        }
        first = response
        return response
    }

    func pause(seconds: Int) { now += Int64(seconds) }

    func visits() -> [ScenarioOrigin.Visit] { origin.visits }
}
