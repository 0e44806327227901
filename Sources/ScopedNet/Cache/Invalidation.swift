import HTTPTypes

/// What a request that changes things makes wrong (RFC 9111 section 4.4).
enum Invalidation {
    /// The keys to empty after a response to a method that is not known to be safe: the target, and what `Location` and `Content-Location` name at
    /// the same origin. None when the server refused.
    static func keys(_ request: CacheRequest, _ response: CacheHead, strategy: CacheStrategy) -> [CacheKey] {
        guard (200..<400).contains(response.status), let target = CacheURL(request.url) else { return [] }
        var keys = [CacheKey(target, policy: strategy.policy, hashSecret: strategy.hashSecret)]
        for name in [HTTPField.Name.location, .contentLocation] {
            guard let reference = response.fields.onlyLine(name), let url = target.resolving(reference), url.origin == target.origin else {
                continue
            }
            let key = CacheKey(url.with(userInfo: target.userInfo), policy: strategy.policy, hashSecret: strategy.hashSecret)
            if !keys.contains(key) { keys.append(key) }
        }
        return keys
    }
}
