import HTTPTypes

/// Something that puts a cache between a caller and an origin, for one scenario: rules alone, the library over a real server, or a
/// process of its own for each request.
///
/// A driver is made with the scenario's origin, an empty cache and a clock. It sends what it is given, follows no redirect, tries
/// nothing twice of its own accord, and serves stale responses when the origin cannot be reached.
protocol CacheScenarioDriver: Sendable {
    /// Sends a request through the cache and gives what the caller gets.
    ///
    /// A response made by the cache is a response too. Work which the cache goes on with in the background is over when this returns.
    func exchange(_ request: ScenarioRequest) async throws -> ScenarioResponse

    /// Lets time pass, for the cache and for the origin.
    func pause(seconds: Int) async throws

    /// What reached the origin so far, in order.
    func visits() async throws -> [ScenarioOrigin.Visit]
}

/// What a caller asks for.
struct ScenarioRequest: Sendable {
    var method: String
    /// Path and query.
    var target: String
    /// With the mark of the exchange (`ScenarioMark.exchange`), which has to reach the origin.
    var fields: HTTPFields
    var body: String?
    /// As a reload of a browser: what is stored is to be validated.
    var isReload: Bool
}

/// What a caller gets.
struct ScenarioResponse: Sendable {
    var status: Int
    var fields: HTTPFields
    var body: String
    /// The interim responses before it, in order.
    var interim: [Head] = []

    struct Head: Sendable {
        var status: Int
        var fields: HTTPFields
    }
}

/// The fields by which a scenario's messages are told from one another.
enum ScenarioMark {
    /// The number of the exchange, from 1: in a request the one it belongs to, in a response the one in which the origin sent it.
    static let exchange = "Scenario-Exchange"
    /// The origin's clock when it sent a response, seconds since 1970.
    static let time = "Scenario-Time"
}

extension HTTPFields {
    /// The lines of a field joined, or nil without any.
    subscript(text name: String) -> String? {
        get { HTTPField.Name(name).flatMap { self[$0] } }
        set { if let name = HTTPField.Name(name) { self[name] = newValue } }
    }
}
