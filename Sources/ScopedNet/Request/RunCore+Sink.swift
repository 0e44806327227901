/// What the transport reports. Its thread: decide and hand on, never call the user.
extension RunCore: TransferSink {
    package func transfer(_ id: TransferID, didReach milestone: TransferMilestone, batch: DeliveryBatch) {
        guard let feed else { return }
        switch milestone {
        case .reconnected:
            drive.silentReconnects += 1
            feed.push(
                observed: .retryDecided(reason: RetryPolicy.Reason.staleConnection.description, after: .zero), from: self, batch: batch)
        case .trustReported(let failure): feed.push(observed: .trustReported(failure), from: self, batch: batch)
        case .informational(let head): feed.push(observed: .informational(head), from: self, batch: batch)
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
        drive.isTypeRefused = false
        drive.bodyIsValue = false
        if let destination = cacheDestination(head) ?? challengeDestination(head) { return destination }
        // What is stored must be whole, also where the caller gets a beginning.
        if drive.cache?.stores == true, isFollowed(head) || !template.options.validation.accepts(head.status) {
            // Too large for that, it is the error it would have been without a cache.
            return .memoryPrefix(limit: template.options.limits.bodyBytes)
        }
        if isFollowed(head) { return .memoryPrefix(limit: keptBytes(ofRedirect: head)) }
        if let destination = downloadDestination(head, batch: batch) { return destination }
        guard template.options.validation.accepts(head.status) else { return .memoryPrefix(limit: template.errorBodyBytes) }
        // A response that goes through a cache may be for others too, and comes whole; a file and a stream are for this run alone.
        if drive.cache == nil || template.destination != nil, !acceptsType(head, isEmpty: head.contentLength == 0) {
            drive.isTypeRefused = true
            return .memoryPrefix(limit: template.errorBodyBytes)
        }
        drive.bodyIsValue = true
        if let held = askAboutResponse(id, head) { return held }
        feed?.pushHead(head, from: self, batch: batch)
        return bodyDestination(head)
    }

    package func transfer(_ id: TransferID, didSend count: Int64, of total: Int64?, batch: DeliveryBatch) {
        feed?.pushSent(TransferProgress(completed: count, total: total), from: self, batch: batch)
    }

    package func transfer(_ id: TransferID, didReceive count: Int64, of total: Int64?, batch: DeliveryBatch) {
        // An error page, or what a redirect says, is no part of what was asked for.
        guard drive.bodyIsValue else { return }
        if let download = drive.download { return reportProgress(count, of: total, download, batch) }
        feed?.pushReceived(TransferProgress(completed: count, total: total), from: self, batch: batch)
    }

    /// Others need not wait for the disk.
    package func transferDidLeaveConnection(_ id: TransferID) {
        drive.hasLeftConnection = true
        session.admission.release(admissionKey)
    }

    package func transfer(_ id: TransferID, didFinishWith result: TransferResult, batch: DeliveryBatch) {
        if drive.hasLeftConnection { drive.hasLeftConnection = false } else { session.admission.release(admissionKey) }
        attemptFinished(result, batch: batch)
    }
}
