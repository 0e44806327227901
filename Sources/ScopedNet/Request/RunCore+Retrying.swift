/// Asking the program whether a failed attempt is repeated.
extension RunCore {
    /// - Returns: false where there is nobody to ask, or nothing to decide: a dead connection is replaced at once, and what has been delivered in
    ///   part, or cannot be sent again, is not repeated whoever wants it.
    func askAboutRetry(_ decision: RetryPolicy.Decision, _ context: RetryPolicy.Context, _ result: TransferResult) -> Bool {
        switch decision {
        case .retry(_, .staleConnection), .stop(.alreadyDelivered), .stop(.bodyNotReplayable): return false
        default: break
        }
        guard !context.hasDelivered, context.isBodyReplayable else { return false }
        let proposal = {
            RequestHooks.RetryProposal(
                runID: self.id, self.exchange, result, context, decision, bodyBytes: self.template.errorBodyBytes)
        }
        guard let question = question({ $0.retry }, proposal) else { return false }
        ask(question) { (run: RunCore, answer: RequestHooks.RetryAnswer?) in
            let decision = (answer ?? .asDecided).decision(instead: decision)
            if !run.carryOut(decision, context, result, batch: nil) { run.judge(result, after: .retry, batch: nil) }
        }
        return true
    }
}

extension RequestHooks.RetryAnswer {
    fileprivate func decision(instead decided: RetryPolicy.Decision) -> RetryPolicy.Decision {
        switch self {
        case .asDecided: decided
        case .retry(let wait): .retry(after: max(.zero, wait), .program)
        case .stop: .stop(.program)
        }
    }
}
