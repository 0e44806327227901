import HTTPTypes

/// A caller with no cache at all: what it scores is what a score is worth nothing below.
actor UncachedDriver: CacheScenarioDriver {
    private var origin: ScenarioOrigin
    private var now: Int64 = 1_800_000_000

    init(_ scenario: CacheScenario) {
        origin = ScenarioOrigin(scenario)
    }

    struct Disconnected: Error {}

    func exchange(_ request: ScenarioRequest) throws -> ScenarioResponse {
        now += Int64(origin.delay(of: request.fields))
        guard let response = origin.answer(method: request.method, fields: request.fields, now: now) else { throw Disconnected() }
        return response
    }

    func pause(seconds: Int) { now += Int64(seconds) }

    func visits() -> [ScenarioOrigin.Visit] { origin.visits }
}
