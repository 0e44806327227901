/// What is done once the head of the server's response is known.
///
/// The order: ``invalidation`` at once, whatever becomes of the body; ``removals`` and ``updates``; ``storage`` when the body is complete.
package struct CacheOutcome: Sendable {
    /// What the caller gets.
    package enum Answer: Sendable {
        /// The response as it came.
        case received
        /// A stored response: validated, or better than an error. The body of the server's response is not wanted.
        case stored(CachedAnswer)
        /// The whole, out of stored bytes and the body that is coming.
        case joined(CacheHead, [BodyPiece])
        /// Nothing yet: the response is of no use, and this is to be sent in its place.
        case again(CacheForward)
    }

    package var answer: Answer
    package var storage: StorageDecision
    /// Candidates whose heads have changed, with bodies as they were.
    package var updates: [CandidateUpdate] = []
    /// Candidates that are wrong by now.
    package var removals: [Int] = []
    /// What is gone before anything is stored (RFC 9111 section 4.4). A fetch begun before must not store after it.
    package var invalidation: Invalidation?
    package var status: ResponseCache.Status
}

package struct CandidateUpdate: Sendable, Equatable {
    package var candidate: Int
    package var response: StoredResponse
}

/// What is done when no response came.
package enum CacheFailureOutcome: Sendable, Equatable {
    /// The network's error is the caller's.
    case fail
    /// A stale response in its place.
    case stored(CachedAnswer)
    /// A 504 made here: the stored response must not be used without the server's word (RFC 9111 section 5.2.2.2).
    case unavailable(CacheHead, ResponseCache.Status)
}
