import FoundationEssentials

/// A run that has a response, or an error in its place: it is judged, and becomes the outcome.
protocol JudgedRun: CachedRun, DownloadRun, RedirectedRun, RetriedRun {
    var attempts: AttemptList { get }
}

extension JudgedRun {
    /// One step after the other, in the order of ``ResponseVerdict``, until one of them takes the response over. `declined` is the last that has
    /// not; it may have asked the program first.
    func judge(_ input: inout StepInput, after declined: ResponseVerdict?) -> RunEvent? {
        guard let result = input.result else { return .failed }
        switch ResponseVerdict.next(after: declined, JudgedFacts(run: self, result: result)) {
        case .challenge: return answerChallenge(result, &input)
        case .redirect: return redirect(result, &input)
        case .retry: return retry(result, &input)
        case .storedResponse: return storedInstead(of: result.error, &input) ?? .declined(.storedResponse)
        case .failure:
            input.error = error(of: result)
            return .refused
        case .status:
            input.error = statusRefusal(result)
            return .refused
        case .contentType:
            tellOfBody(result, batch: input.batch)
            input.error = typeRefusal(result)
            return .refused
        case .acceptance:
            tellOfBody(result, batch: input.batch)
            input.file = fileToCommit(result)
            return .accepted(hasFile: input.file != nil)
        }
    }

    // MARK: What is not accepted

    private func error(of result: TransferResult) -> NetworkError {
        result.error ?? error(.badResponse, .receiving, "no response head")
    }

    private func statusRefusal(_ result: TransferResult) -> NetworkError {
        guard let head = result.head else { return error(of: result) }
        let isExpected = acceptsType(head, isEmpty: result.body.isEmpty)
        return NetworkError(
            .unacceptableStatus, phase: .receiving,
            message: "the server answered \(head.status)\(head.reasonPhrase.isEmpty ? "" : " " + head.reasonPhrase)", runID: id,
            attempt: exchange.attempt, underlying: isExpected ? nil : NetworkError.unacceptableType(head))
    }

    /// The answer is complete, and of a type that nobody asked for.
    private func typeRefusal(_ result: TransferResult) -> NetworkError {
        guard let head = result.head else { return error(of: result) }
        var error = numbered(.unacceptableType(head))
        if head.appliedCoding == nil { error.bodyBytes = result.body.count }
        return error
    }

    private func tellOfBody(_ result: TransferResult, batch: DeliveryBatch) {
        guard receiving.source == .network else {
            if let head = result.head { feed?.pushHead(head, from: self, batch: batch) }
            return
        }
        feed?.push(observed: .bodyReceived(bytes: Int(clamping: result.metrics.bodyBytesReceived)), from: self, batch: batch)
        feed?.pushFinalProgress(
            result.metrics, offset: downloading.session?.offset ?? 0, hasBody: exchange.body != nil, from: self, batch: batch)
    }
}

private struct JudgedFacts<Run: JudgedRun>: ResponseFacts {
    let run: Run
    let result: TransferResult
    var isResponse: Bool { result.error == nil && result.head != nil }
    var isRedirection: Bool { result.head.map { (300..<400).contains($0.status) } ?? false }
    var canAuthenticate: Bool { run.authentication != nil }
    var isFromNetwork: Bool { run.receiving.source == .network }
    var isPartHeld: Bool { run.isPartHeld }
    var isStatusAccepted: Bool { result.head.map { run.template.options.validation.accepts($0.status) } ?? false }
    var isTypeAccepted: Bool { result.head.map { !run.isTypeUnwanted($0, result.body) } ?? false }
}
