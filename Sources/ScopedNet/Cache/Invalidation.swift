import HTTPTypes

/// The stored responses that a response to an unsafe request has made invalid (RFC 9111 section 4.4). (pure)
package struct Invalidation: Sendable {
    private let target: CacheURL
    /// What `Location` and `Content-Location` name at the same origin.
    private let references: [CacheURL]
    private let virtualHost: VirtualHost?
    private let strategy: CacheStrategy

    /// - Returns: nil when the response is an error.
    init?(_ request: CacheRequest, _ response: CacheHead, strategy: CacheStrategy) {
        guard (200..<400).contains(response.status), let target = CacheURL(request.url) else { return nil }
        let virtualHost = VirtualHost(request.fields, of: target)
        self.target = target
        self.virtualHost = virtualHost
        self.strategy = strategy
        // References are relative to the host that was spoken to, which need not be the one of the URL.
        guard let origin = virtualHost.map({ $0.origin }) ?? target.origin else {
            references = []
            return
        }
        let base = target.at(origin)
        references = [HTTPField.Name.location, .contentLocation].compactMap { name in
            guard let reference = response.fields.onlyLine(name), let url = base.resolving(reference), url.origin == origin else {
                return nil
            }
            return url.at(target.origin).with(userInfo: target.userInfo)
        }
    }

    /// The keys to empty, each once; the first one is the target's.
    package var keys: [CacheKey] { ([target] + references).reduce(into: []) { keys, url in add(url, to: &keys) } }

    /// The keys of what else than the target is invalid.
    var referencedKeys: [CacheKey] { references.reduce(into: []) { keys, url in add(url, to: &keys) } }

    /// Whether ``referencedKeys`` calls a function of the program, which not every thread may do.
    var callsProgram: Bool { strategy.policy.customKey != nil && !references.isEmpty }

    private func add(_ url: CacheURL, to keys: inout [CacheKey]) {
        let key = CacheKey(url, at: virtualHost, policy: strategy.policy, hashSecret: strategy.hashSecret)
        if !keys.contains(key) { keys.append(key) }
    }
}
