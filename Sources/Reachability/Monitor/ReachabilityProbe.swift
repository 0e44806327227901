/// An opt-in check whether more than a route is there. The GET is yours: this module speaks no HTTP.
///
/// It runs when the path changes to a satisfied one, and again later while the verdict is bad. The verdict is `validation` of the path and
/// never changes its `status`.
public struct ReachabilityProbe: Sendable {
    /// What the server answered; redirects must not have been followed.
    public struct Response: Sendable {
        /// The status code.
        public var status: Int
        /// The header `Location`.
        public var location: String?
        /// The beginning of the body, at least as long as what is expected of it.
        public var body: String

        /// Makes a response.
        public init(status: Int, location: String? = nil, body: String = "") {
            self.status = status
            self.location = location
            self.body = body
        }
    }

    /// The answer that proves the way to be free.
    public enum Expectation: Sendable, Hashable {
        /// Status 204, as from `generate_204`.
        case noContent
        /// Status 200, and a body that begins so.
        case body(String)
    }

    /// The URL that is asked, best a plain `http` one: portals cannot answer for others under `https`.
    public var url: String
    /// The expected answer.
    public var expectation: Expectation
    /// The pauses before it is tried again; the last one is used from then on.
    public var retryPauses: [Duration] = [.seconds(1), .seconds(2), .seconds(5), .seconds(15), .seconds(60)]
    /// Does the GET, without following redirects. Called on the concurrency runtime; the task is cancelled when the path changes.
    public var get: @Sendable (_ url: String) async throws -> Response

    /// Makes a probe. What `get` throws counts as ``NetworkPath/Validation/failed``.
    public init(
        url: String, expecting expectation: Expectation = .noContent, get: @escaping @Sendable (_ url: String) async throws -> Response
    ) {
        self.url = url
        self.expectation = expectation
        self.get = get
    }

    /// What an answer means (pure): anything but the expected one was written by somebody in between, or by a server in trouble.
    func verdict(on response: Response) -> NetworkPath.Validation {
        switch (expectation, response.status) {
        case (.noContent, 204): return .validated
        case (.body(let expected), 200) where response.body.hasPrefix(expected): return .validated
        case (_, 200), (_, 511): return .captivePortal(url: response.location)
        case (_, 300..<400): return .captivePortal(url: response.location)
        default: return .failed
        }
    }

    func run() async -> NetworkPath.Validation {
        guard let response = try? await get(url) else { return .failed }
        return verdict(on: response)
    }
}
