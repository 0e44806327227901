/// When the attempt goes out that a ``RetryPolicy`` has decided on. A pure decision.
package enum RetryTiming: Sendable, Hashable {
    /// By the clock.
    case after(Duration)
    /// So long after there is a path again, at the latest after `atMost`.
    case withPath(jitter: Duration, atMost: Duration)

    /// The most that clients which see the same network return are spread over.
    package static let longestJitter = Duration.seconds(1)

    /// Decides when the next attempt goes out.
    ///
    /// - Parameters:
    ///   - wait: what the policy asks for.
    ///   - hasPath: whether there is a path to the server; nil when that is not known, which counts as yes.
    ///   - longest: the longest wait of the policy: should the system be wrong about the path, the attempt goes out after that.
    ///   - random01: 0 ..< 1.
    /// - Returns: a time, or the return of the path.
    package static func decide(wait: Duration, hasPath: Bool?, longest: Duration, random01: Double) -> RetryTiming {
        guard hasPath == false, wait > .zero else { return .after(wait) }
        let random = random01.isFinite ? min(max(random01, 0), 1) : 0.5
        return .withPath(jitter: min(wait, longestJitter) * random, atMost: max(wait, longest))
    }
}
