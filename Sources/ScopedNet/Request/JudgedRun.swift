import FoundationEssentials

/// A run that has a response, or an error in its place: it is judged, and becomes the outcome.
protocol JudgedRun: CachedRun, DownloadRun, InterceptedRun {
    var attempts: AttemptList { get }
}

extension JudgedRun {
    /// The first verdict after `declined` that applies, in the order of ``ResponseVerdict``. One that declines, at once or after it has asked the
    /// program, leads to this step again.
    func judge(_ input: inout StepInput, after declined: ResponseVerdict?) -> RunEvent? {
        switch ResponseVerdict.next(after: declined, facts(&input)) {
        case .challenge: answerChallenge(&input)
        case .redirect: redirect(&input)
        case .retry: retry(&input)
        case .storedResponse: storedInstead(of: input.result?.error, &input) ?? .declined(.storedResponse)
        case .interception: leaveCall(&input)
        case .failure: refuse(error(of: input.result), &input)
        case .status: refuse(statusRefusal(input.result), &input)
        case .contentType: refuseType(&input)
        case .acceptance: accept(&input)
        }
    }

    /// By reference, as everything the response consists of would be copied.
    private func facts(_ input: inout StepInput) -> JudgedFacts {
        let head = input.result?.head
        let isResponse = head != nil && input.result?.error == nil
        var facts = JudgedFacts(
            isResponse: isResponse, isRedirection: false, canAuthenticate: authentication != nil,
            isFromNetwork: receiving.source == .network, isIntercepted: interception?.call != nil,
            isPartHeld: isPartHeld, isStatusAccepted: false, isTypeAccepted: false)
        guard let head else { return facts }
        facts.isRedirection = (300..<400).contains(head.status)
        facts.isStatusAccepted = template.options.validation.accepts(head.status)
        // Looked at for accepted statuses only.
        facts.isTypeAccepted = isResponse && facts.isStatusAccepted && !isTypeUnwanted(head, isEmpty: input.result?.body.isEmpty ?? true)
        return facts
    }

    private func accept(_ input: inout StepInput) -> RunEvent {
        if feed != nil { tellOfBody(input.result, batch: input.batch) }
        guard isFile, let file = input.result.flatMap({ fileToCommit($0) }) else { return .accepted(hasFile: false) }
        input.file = file
        return .accepted(hasFile: true)
    }

    // MARK: What is not accepted

    private func refuse(_ error: NetworkError, _ input: inout StepInput) -> RunEvent {
        input.error = error
        return .refused
    }

    private func error(of result: TransferResult?) -> NetworkError {
        result?.error ?? error(.badResponse, .receiving, "no response head")
    }

    private func statusRefusal(_ result: TransferResult?) -> NetworkError {
        guard let head = result?.head else { return error(of: result) }
        let isExpected = acceptsType(head, isEmpty: result?.body.isEmpty ?? true)
        return NetworkError(
            .unacceptableStatus, phase: .receiving,
            message: "the server answered \(head.status)\(head.reasonPhrase.isEmpty ? "" : " " + head.reasonPhrase)", runID: id,
            attempt: exchange.attempt, underlying: isExpected ? nil : NetworkError.unacceptableType(head))
    }

    /// The answer is complete, and of a type that nobody asked for.
    private func refuseType(_ input: inout StepInput) -> RunEvent {
        tellOfBody(input.result, batch: input.batch)
        guard let result = input.result, let head = result.head else { return refuse(error(of: input.result), &input) }
        var error = numbered(.unacceptableType(head))
        if head.appliedCoding == nil { error.bodyBytes = result.body.count }
        return refuse(error, &input)
    }

    private func tellOfBody(_ result: TransferResult?, batch: DeliveryBatch) {
        guard let result, let feed else { return }
        guard receiving.source == .network else {
            if let head = result.head { feed.pushHead(head, from: self, batch: batch) }
            return
        }
        feed.push(observed: .bodyReceived(bytes: Int(clamping: result.metrics.bodyBytesReceived)), from: self, batch: batch)
        feed.pushFinalProgress(
            result.metrics, offset: downloading.session?.offset ?? 0, hasBody: exchange.body != nil, from: self, batch: batch)
    }
}

private struct JudgedFacts: ResponseFacts {
    var isResponse: Bool
    var isRedirection: Bool
    var canAuthenticate: Bool
    var isFromNetwork: Bool
    var isIntercepted: Bool
    var isPartHeld: Bool
    var isStatusAccepted: Bool
    var isTypeAccepted: Bool
}
