#if canImport(ScopedNet)
@testable import ScopedNet
#endif

/// The work from step to step: the shipping `RunMachine` and `ResponseVerdict` say what is next; what each step meets is the configuration's.
extension Machine {
    /// The present step has ended: on to what the shipping machine says is next. Steps that meet nobody else end at once.
    mutating func advance(_ event: RunEvent) {
        let last = s.runs[r].machine.step
        guard let next = s.runs[r].machine.handle(event) else {
            fail(.stepOutOfOrder)
            return ret()
        }
        if !isInOrder(event, last, next) { fail(.stepSkipped) }
        note(next)
        switch next {
        case .authorize: advance(.changed(elsewhere: false))
        case .consultCache: consultCache()
        case .claimTarget, .coalesce, .serve, .placeFile: jump(.waitStage)
        case .serveFirst, .replaceError: jump(.workStage)
        case .condition: advance(.done)
        case .awaitPath: c.waitsForPath && s.runs[r].exchange == 1 ? jump(.waitStage) : advance(.done)
        case .interceptCall: jump(.waitStage)
        case .interceptExchange, .leaveExchange: c.intercepts ? jump(.waitStage) : advance(.done)
        case .awaitRate: jump(.submitLook)
        case .awaitSlot: jump(.submitStore)
        case .park: jump(.beginPark)
        case .transfer: jump(flaw == .stageAfterGate ? .beginStart : .beginStage)
        case .awaitDisposition: advance(.done)
        case .finishPart: c.claimsTarget ? jump(.waitStage) : advance(.done)
        case .updateCache: updateCache()
        case .judge: jump(.finishDecide)
        case .backOff: response == .retryNow ? advance(.done) : jump(.waitStage)
        case .storeRefused: advance(.failed)
        case .makeValue where response == .okDecoded: jump(.workStage)
        case .makeValue:
            s.runs[r].outcome = 1
            advance(.done)
        case .copyToCache: advance(.done)
        case .fail:
            s.runs[r].outcome = 2
            advance(.done)
        case .deliver: jump(.completeStage)
        case .created:
            fail(.stepOutOfOrder)
            ret()
        }
    }

    mutating func consultCache() {
        s.runs[r].lookups += 1
        switch (c.cache, s.runs[r].lookups) {
        case (.none, _): advance(.uncached)
        case (.stored, _), (.lost, 1), (.shared, 2): serveStored()
        case (.first, 1): advance(.foundFirst)
        case (.shared, 1): advance(.missed(isShared: true))
        case (.missed, _), (.lost, _), (.first, _), (.shared, _): advance(.missed(isShared: false))
        }
    }

    mutating func serveStored() {
        s.runs[r].response = Setup.Response.ok.rawValue
        advance(.found)
    }

    mutating func updateCache() {
        switch response {
        case .notModified: serveStored()
        case .useless:
            s.runs[r].exchange += 1
            advance(.missed(isShared: false))
        default: advance(.answered)
        }
    }

    /// A wait was ended by its timer, or by what it was for.
    mutating func waitEnded() {
        switch s.runs[r].machine.step {
        case .serve where c.cache == .lost && s.runs[r].lookups == 1: advance(.changed(elsewhere: false))
        case .serve: advance(.answered)
        case .coalesce: advance(c.expires ? .expired : .changed(elsewhere: false))
        case .awaitPath: advance(c.expires ? .expired : .done)
        case .interceptCall: advance(.began(.request))
        case .finishPart where response == .misfit:
            s.runs[r].exchange += 1
            advance(.retried)
        default: advance(.done)
        }
    }

    /// The response that is in hand.
    var response: Setup.Response { Setup.Response(rawValue: s.runs[r].response) ?? .failure }

    enum Passed: UInt8 { case claimed, authorized, pathAsked, rated, received, disposed, partSeen, cacheTold }

    enum Intercepted: UInt8 { case call, exchange, response }

    /// False where a step was left out that no order may leave out, whatever the machine says.
    func isInOrder(_ event: RunEvent, _ last: RunStep, _ next: RunStep) -> Bool {
        func has(_ steps: Passed...) -> Bool { steps.allSatisfy { s.runs[r].passed & 1 << $0.rawValue != 0 } }
        func saw(_ step: Intercepted) -> Bool { s.runs[r].passedInterceptors & 1 << step.rawValue != 0 }
        let isFirst = s.runs[r].exchange == 1
        return
            switch (event, next)
        {
        // No attempt without its back-off, no stored response that is not read, no refusal that is not stored.
        case (.retried, _): next == (last == .finishPart ? .interceptExchange : .backOff)
        case (.found, _): next == .serve
        case (.refused, _): next == .storeRefused
        case (.suspended, _): next == .park
        case (.decoded, _): next == .copyToCache
        case (.expired, _): next == .replaceError
        case (.foundFirst, _): next == .serveFirst
        case (.missed(let isShared), _): next == (isShared ? .coalesce : .condition)
        // A verdict that has declined a response is not asked again about it.
        case (.declined(let verdict), _): next == .judge(after: verdict)
        case (.uncached, .awaitPath): last.isLookup
        case (_, .awaitPath): last == .condition
        case (_, .authorize): (!c.claimsTarget || has(.claimed)) && (!c.intercepts || saw(.call))
        case (_, .consultCache): !isFirst || has(.authorized) || s.runs[r].lookups > 0
        case (_, .awaitRate): (!isFirst || has(.pathAsked)) && saw(.exchange)
        case (_, .awaitSlot): has(.rated)
        case (_, .transfer): has(.rated)
        case (_, .awaitDisposition): has(.received)
        // A stored response has no exchange of its own.
        case (.answered, .judge): s.runs[r].isServed || has(.received, .disposed, .partSeen, .cacheTold) && saw(.response)
        case (.accepted(let hasFile), _): next == (hasFile ? .placeFile : .makeValue)
        case (_, .makeValue): c.claimsTarget
        case (_, .deliver): s.runs[r].outcome != 0
        default: true
        }
    }

    mutating func note(_ next: RunStep) {
        func note(_ step: Passed) { s.runs[r].passed |= 1 << step.rawValue }
        func note(_ step: Intercepted) { s.runs[r].passedInterceptors |= 1 << step.rawValue }
        switch next {
        case .claimTarget: note(.claimed)
        case .authorize: note(.authorized)
        case .awaitPath: note(.pathAsked)
        case .awaitRate: note(.rated)
        case .interceptCall: note(.call)
        case .interceptExchange: note(.exchange)
        case .leaveExchange: note(.response)
        case .transfer:
            s.runs[r].passed = 0
            s.runs[r].passedInterceptors = 0
        case .awaitDisposition: note(.disposed)
        case .finishPart: note(.partSeen)
        case .updateCache: note(.cacheTold)
        case .serve: s.runs[r].isServed = true
        default: break
        }
    }

    /// The shipping order, with the facts of a response: the first verdict that takes it over must be the one that is to come first.
    mutating func judge() {
        guard case .judge(let declined) = s.runs[r].machine.step else {
            fail(.stepOutOfOrder)
            return ret()
        }
        let verdict = ResponseVerdict.next(after: declined, response)
        // From here on none declines.
        guard response.takers.contains(verdict) || verdict.comes(after: .storedResponse) else { return advance(.declined(verdict)) }
        if verdict != response.takers.first { fail(.wrongVerdict) }
        switch verdict {
        case .challenge, .redirect:
            s.runs[r].exchange += 1
            advance(.changed(elsewhere: true))
        case .retry:
            s.runs[r].exchange += 1
            advance(.retried)
        case .storedResponse: serveStored()
        case .interception:
            s.runs[r].response = Setup.Response.ok.rawValue
            advance(.declined(.interception))
        case .failure, .status, .contentType: advance(.refused)
        case .acceptance: advance(.accepted(hasFile: c.claimsTarget))
        }
    }
}

extension RunStep {
    fileprivate var isLookup: Bool { if case .consultCache = self { true } else { false } }
}
