// Pure: no clock, lock, thread or import. The model check and its mutants compile this very file.

/// The facts about a response, or the error in its place, that decide how it is judged.
package protocol ResponseFacts {
    /// A response has come; otherwise there is an error.
    var isResponse: Bool { get }
    /// A 3xx.
    var isRedirection: Bool { get }
    /// Credentials are at hand, or somebody who can be asked for them.
    var canAuthenticate: Bool { get }
    /// It came from the server and not out of the cache.
    var isFromNetwork: Bool { get }
    /// Interceptors of the call wait for it.
    var isIntercepted: Bool { get }
    /// The part of a download is still held by a run that was cancelled, so another attempt would find it in use.
    var isPartHeld: Bool { get }
    var isStatusAccepted: Bool { get }
    /// Asked of accepted statuses only.
    var isTypeAccepted: Bool { get }
}

/// The order in which a response, or the error in its place, is judged: the first step that applies takes it over, and each that declines leaves it
/// to the next. (pure)
///
/// - A challenge comes before everything: no other step has a meaning before the server knows who asks.
/// - A redirect comes before a retry: a 3xx is an answer, whatever the retry policy says of its status.
/// - A retry comes before a stored response: the server's own answer is better, as long as it may be had.
/// - A stored response takes the place of an error only, never of a status: the cache has judged statuses already (`stale-if-error`).
/// - The interceptors of the call are outside of all these and see the response that these lead to; the rules for a success hold for the one that
///   they return. An error they see in the step `fail`, as errors come from other steps, too.
/// - The status comes before the type: an error page may be of any type.
package enum ResponseVerdict: UInt8, CaseIterable, Sendable {
    case challenge, redirect, retry, storedResponse, interception, failure, status, contentType, acceptance

    /// The step that comes after one that has declined; nil before the first. `acceptance` applies always.
    package static func next<Facts: ResponseFacts>(after declined: Self?, _ facts: Facts) -> Self {
        var step = declined.map(\.following) ?? .challenge
        while !step.applies(facts) { step = step.following }
        return step
    }

    /// True for each step behind the one that has declined.
    package func comes(after declined: Self?) -> Bool { declined.map { rawValue > $0.rawValue } ?? true }

    private var following: Self { Self(rawValue: rawValue + 1) ?? .acceptance }

    private func applies<Facts: ResponseFacts>(_ facts: Facts) -> Bool {
        switch self {
        case .challenge: facts.isResponse && facts.canAuthenticate
        case .redirect: facts.isResponse && facts.isRedirection
        case .retry: facts.isFromNetwork && !facts.isPartHeld && !(facts.isResponse && facts.isStatusAccepted)
        case .interception: facts.isResponse && facts.isIntercepted
        case .storedResponse, .failure: !facts.isResponse
        case .status: !facts.isStatusAccepted
        case .contentType: !facts.isTypeAccepted
        case .acceptance: true
        }
    }
}
