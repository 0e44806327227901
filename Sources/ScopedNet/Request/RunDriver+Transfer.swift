extension RunDriver {
    /// Has a slot, and uses it. Any thread, also the network's.
    func transfer() -> RunEvent? {
        if !sending.hasBegun {
            sending.hasBegun = true
            if template.options.retry.maxAttempts > 1 {
                session.admission.payIn(exchanges.sentURL.originID)
                session.link.noteRetries(to: template.url)
            }
            beginTotalTime()
        }
        if let transaction = caching.transaction { transaction.sentAt = transaction.cache.clock() }
        let transfer = exchanges.sent
        enter(.transferring(transfer.id.number))
        StepDoor.pass(.stageStored, id)
        feed?.push(observed: .started(attempt: transfer.attempt), from: self)
        feed?.pushStart(from: self)
        note(.sent)
        session.transport.start(transfer, sink: self)
        StepDoor.pass(.transferStarted, id)
        // A cancel that came before the stage was stored could not stop it.
        if !mayGoOn { session.transport.cancel(transfer.id) }
        if isSuspended { applySuspension(transfer.id) }
        return nil
    }
}

/// The reports of the transport. On its thread: decide and hand on, never call the user.
extension RunDriver: TransferSink {
    package func transfer(_ id: TransferID, didReach milestone: TransferMilestone, batch: DeliveryBatch) {
        guard let feed else { return }
        switch milestone {
        case .reconnected:
            sending.silentReconnects += 1
            feed.push(
                observed: .retryDecided(reason: RetryPolicy.Reason.staleConnection.description, after: .zero), from: self, batch: batch)
        case .trustReported(let failure): feed.push(observed: .trustReported(failure), from: self, batch: batch)
        case .informational(let head): feed.push(observed: .informational(head), from: self, batch: batch)
        case .opened: break
        case .connected(let timings):
            if !timings.isReused {
                feed.push(observed: .nameResolved(after: timings.nameLookup), from: self, batch: batch)
                feed.push(observed: .connected(timings), from: self, batch: batch)
                if let secured = timings.secured { feed.push(observed: .secured(after: secured), from: self, batch: batch) }
            }
            feed.push(observed: .requestSent, from: self, batch: batch)
        }
    }

    package func transfer(_ id: TransferID, didReceive head: ResponseHead, batch: DeliveryBatch) -> BodyDestination {
        StepDoor.pass(.headReceived, self.id)
        note(.headReceived)
        feed?.push(observed: .headReceived(head), from: self, batch: batch)
        keepCookies(head)
        noteStrictTransport(head)
        // Before the slot goes to the next request to the host, which has to wait as well.
        noteRetryAfter(head)
        receiving.isTypeRefused = false
        receiving.bodyIsValue = false
        if let destination = cacheDestination(head) ?? challengeDestination(head) { return destination }
        // A stored body must be whole, also where the caller gets a beginning.
        if caching.transaction?.stores == true, isFollowed(head) || !template.options.validation.accepts(head.status) {
            // Too large for that, it is the error it would have been without a cache.
            return .memoryPrefix(limit: template.options.limits.bodyBytes)
        }
        if isFollowed(head) { return .memoryPrefix(limit: keptBytes(ofRedirect: head)) }
        if let destination = downloadDestination(head, batch: batch) { return destination }
        guard template.options.validation.accepts(head.status) else { return .memoryPrefix(limit: errorBodyBytes) }
        // A response that goes through a cache may be for others too, and comes whole; a file and a stream are for this run alone.
        if caching.transaction == nil || template.destination != nil, !acceptsType(head, isEmpty: head.contentLength == 0) {
            receiving.isTypeRefused = true
            return .memoryPrefix(limit: errorBodyBytes)
        }
        receiving.bodyIsValue = true
        if let held = askAboutResponse(id, head) { return held }
        feed?.pushHead(head, from: self, batch: batch)
        let destination = bodyDestination(head)
        beginReading(destination.stream)
        return destination
    }

    /// Interceptors may make a success of what is refused.
    private var errorBodyBytes: Int { interception == nil ? template.errorBodyBytes : template.options.limits.bodyBytes }

    package func transfer(_ id: TransferID, didSend count: Int64, of total: Int64?, batch: DeliveryBatch) {
        feed?.pushSent(TransferProgress(completed: count, total: total), from: self, batch: batch)
    }

    package func transfer(_ id: TransferID, didReceive count: Int64, of total: Int64?, batch: DeliveryBatch) {
        // An error page, or what a redirect says, is no part of what was asked for.
        guard receiving.bodyIsValue else { return }
        if let download = downloading.session { return reportProgress(count, of: total, download, batch) }
        feed?.pushReceived(TransferProgress(completed: count, total: total), from: self, batch: batch)
    }

    /// Others need not wait for the disk.
    package func transferDidLeaveConnection(_ id: TransferID) {
        sending.hasLeftConnection = true
        slots.release(admissionKey)
    }

    package func transfer(_ id: TransferID, didFinishWith result: consuming TransferResult, batch: DeliveryBatch) {
        if sending.hasLeftConnection { sending.hasLeftConnection = false } else { slots.release(admissionKey) }
        session.link.noteConnection(to: result.metrics.remoteAddress)
        attempts.append(result.metrics)
        session.counter.transfer(result.metrics)
        session.admission.noteVersion(result.metrics.httpVersion, of: admissionKey)
        feed?.push(observed: .attemptFinished(result.metrics, error: result.error), from: self, batch: batch)
        guard mayGoOn else { return abandonWork() }
        endReading(result.error)
        receive(.done, StepInput(batch, result: result))
    }
}
