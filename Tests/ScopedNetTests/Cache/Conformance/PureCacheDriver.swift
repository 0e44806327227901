import HTTPTypes
import ScopedNet

/// The rules alone, before a script for a network, with a number for a clock.
actor PureCacheDriver: CacheScenarioDriver {
    private let policy: CachePolicy
    private let latency: Double
    private var cache = PureCache()
    private var origin: ScenarioOrigin
    private var now: WallTime

    /// Makes a driver whose responses take `latency` seconds.
    ///
    /// Its clock begins at `secondFraction` of a second: dates on the wire have none, so that it adds to every age.
    init(_ scenario: CacheScenario, policy: CachePolicy = .standard, secondFraction: Double = 0, latency: Double = 0) {
        self.policy = policy
        self.latency = latency
        origin = ScenarioOrigin(scenario)
        now = WallTime(secondsSince1970: 1_800_000_000 + secondFraction)
    }

    func pause(seconds: Int) { now = now + Double(seconds) }

    func visits() -> [ScenarioOrigin.Visit] { origin.visits }

    func exchange(_ request: ScenarioRequest) throws -> ScenarioResponse {
        var policy = policy
        if request.isReload { policy.read = .revalidate }
        let asked = CacheRequest(
            method: HTTPRequest.Method(request.method) ?? .get, url: "http://origin.test\(request.target)", fields: request.fields,
            hasBody: request.body != nil)
        var interim: [ScenarioResponse.Head] = []
        let answer = try cache.exchange(asked, policy: policy, now: now) { sent in
            let requestTime = now
            now = now + Double(origin.delay(of: sent.fields)) + latency
            let response = origin.answer(method: sent.method.rawValue, fields: sent.fields, now: Int64(now.secondsSince1970))
            guard let response else { return .failed(at: now) }
            interim = response.interim
            let head = CacheHead(status: response.status, fields: response.fields)
            return .response(.init(head: head, body: Array(response.body.utf8), requestTime: requestTime, responseTime: now))
        }
        let body = String(decoding: answer.body, as: UTF8.self)
        return ScenarioResponse(status: answer.head.status, fields: answer.head.fields, body: body, interim: interim)
    }
}
