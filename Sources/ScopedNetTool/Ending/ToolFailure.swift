import ScopedNet

/// The end of a command that did not do what it was asked to: what is said on standard error, and the exit status.
struct ToolFailure: Error, Sendable {
    let status: ExitStatus
    /// Nil says nothing.
    let message: String?
    let network: NetworkError?

    init(_ status: ExitStatus, _ message: String?, network: NetworkError? = nil) {
        self.status = status
        self.message = message
        self.network = network
    }

    /// Makes the end of a command whose request failed; `subject` is what it was about, a URL as a rule.
    init(_ error: NetworkError, about subject: String, _ proof: Advice.Proof = .nothing) {
        let what = error.message.isEmpty ? "\(error.code)" : error.message
        let advice = Advice.about(error, proof).map { "\n  \($0)" } ?? ""
        self.init(.of(error), "\(subject): \(what)\(advice)", network: error)
    }

    static let brokenPipe = ToolFailure(.brokenPipe, nil)
    /// A signal ended it, which says the exit status, too.
    static let interrupted = ToolFailure(.software, nil)
}
