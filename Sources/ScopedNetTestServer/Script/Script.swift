#if TestServer
/// What to answer, decided in one place: queued responses first, then routes, then the server's handler.
struct Script: Sendable {
    typealias Handler = @Sendable (RecordedRequest) async -> ScriptedResponse

    enum Answer: Sendable {
        case response(PreparedResponse)
        case handler(Handler)
    }

    var fallback: Handler?
    private var queue: [ScriptedResponse] = []
    private var queuesByPath: [String: [ScriptedResponse]] = [:]
    private var routes: [String: Answer] = [:]
    private var prefixRoutes: [(prefix: String, answer: Answer)] = []
    private var challenges: [(path: String, challenge: Challenge)] = []

    init(fallback: Handler?) {
        self.fallback = fallback
    }

    mutating func enqueue(_ response: ScriptedResponse, path: String?) {
        if let path {
            queuesByPath[path, default: []].append(response)
        } else {
            queue.append(response)
        }
    }

    mutating func route(_ path: String, to answer: Answer) {
        guard path.hasSuffix("*") else {
            routes[path] = answer
            return
        }
        let prefix = String(path.dropLast())
        prefixRoutes.removeAll { $0.prefix == prefix }
        prefixRoutes.append((prefix, answer))
        // The longest prefix is the closest match, so it is asked first.
        prefixRoutes.sort { $0.prefix.utf8.count > $1.prefix.utf8.count }
    }

    mutating func protect(_ path: String, with challenge: Challenge?) {
        challenges.removeAll { $0.path == path }
        if let challenge { challenges.append((path, challenge)) }
    }

    /// What stands before a path; the closest match.
    func challenge(for path: String) -> Challenge? {
        let matches = challenges.filter { $0.path == path || $0.path.hasSuffix("*") && path.hasPrefix($0.path.dropLast()) }
        return matches.max { $0.path.utf8.count < $1.path.utf8.count }?.challenge
    }

    /// Decides for the next request of a path, and uses up what was queued for it.
    mutating func answer(for path: String) -> Answer {
        if let queued = queuesByPath[path]?.first {
            queuesByPath[path]?.removeFirst()
            return .response(PreparedResponse(queued))
        }
        if !queue.isEmpty { return .response(PreparedResponse(queue.removeFirst())) }
        if let route = routes[path] { return route }
        if let route = prefixRoutes.first(where: { path.hasPrefix($0.prefix) }) { return route.answer }
        if let fallback { return .handler(fallback) }
        return .response(PreparedResponse(.status(404)))
    }
}
#endif
