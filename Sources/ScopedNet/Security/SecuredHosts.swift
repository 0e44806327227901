/// Which hosts are reached over `https` only because they have pins. Asked before anything is sent. (pure)
struct SecuredHosts: Sendable {
    private let hosts: HostPatterns<Bool>
    private let otherHosts: Bool
    private let hasHosts: Bool

    /// - Throws: ``NetworkError`` with code `invalidOption` where a host is none.
    init(_ policy: SecurityPolicy) throws(NetworkError) {
        hosts = try Self.table(policy.hosts.mapValues(\.demandsTLS))
        otherHosts = policy.otherHosts.demandsTLS
        hasHosts = !policy.hosts.isEmpty
    }

    /// - Throws: ``NetworkError`` with code `insecureConnection` for a host with pins over `http`.
    func check(_ url: RequestURL) throws(NetworkError) {
        // libcurl would look for its form in ASCII, which is not known here, and what is pinned for that one would be passed by.
        guard !hasHosts || url.host.utf8.allSatisfy({ $0 < 0x80 }) else {
            throw NetworkError(
                .invalidURL, phase: .preparing, message: "a host name beyond ASCII cannot be compared with pinned hosts; write it as xn--…")
        }
        guard url.scheme == "http", hosts.closest(to: url.host) ?? otherHosts else { return }
        throw NetworkError(
            .insecureConnection, phase: .preparing, message: "what is pinned for \(url.host) cannot be verified over http; use https")
    }

    static func table<Value>(_ entries: [String: Value]) throws(NetworkError) -> HostPatterns<Value> {
        do throws(HostPatterns<Value>.Failure) { return try HostPatterns(entries) } catch {
            switch error {
            case .noPattern(let text): throw .invalidPin("'\(text.prefix(100))' is neither a host, an address nor *.domain in ASCII")
            case .twice(let text): throw .invalidPin("two entries are for the host '\(text.prefix(100))'")
            }
        }
    }
}
