/// A downloaded file, on its way into the cache.
extension RunCore {
    /// Ends the transaction to the cache of a download whose file is in its place. Blocks for as long as the file's disk does.
    ///
    /// - Returns: what is to be copied; nil for nothing.
    func makeCacheCopy(_ result: TransferResult) -> CacheCopy? {
        guard template.destination != nil, let path = drive.committed?.destination, let transaction = endTransaction(result)
        else { return nil }
        endLeading()
        // The file holds the decoded bytes, and the server's are what is stored.
        guard result.head?.contentEncoding == nil else { return nil }
        return CacheCopy(transaction, of: path, length: result.metrics.bodyBytesReceived)
    }

    /// Copies on a thread that is neither the download folder's nor the cache's, and goes on: with the copy, or without it where the cache's disk
    /// does not answer.
    func wait(for copy: CacheCopy, then goOn: @escaping @Sendable (RunCore) -> Void) {
        let number = TransferID().number
        enter(.waitingForDisk(number))
        watch(copy, copy.progress, number, goOn)
        // Weakly: a run that has ended without the copy is gone, whenever the disk returns.
        BlockingPool.shared.submit(copy.group) { [weak self] in
            copy.run { self?.mayGoOn == true }
            guard let self, takeWait(.waitingForDisk(number)) else { return }
            guard mayGoOn else { return abandonWork() }
            goOn(self)
        }
        StepDoor.pass(.retryWaiting, id)
        abandonWait(.waitingForDisk(number))
    }

    private func watch(_ copy: CacheCopy, _ last: CacheCopy.Progress, _ number: UInt64, _ goOn: @escaping @Sendable (RunCore) -> Void) {
        let left = timeLeft.map { max($0, .milliseconds(100)) }
        let timer = session.timing.schedule(after: min(left ?? copy.patience, copy.patience)) { [self] in
            let progress = copy.progress
            if progress != last, timeLeft != .zero {
                watch(copy, progress, number, goOn)
                return abandonWait(.waitingForDisk(number))
            }
            guard takeWait(.waitingForDisk(number)) else { return }
            copy.giveUp()
            goOn(self)
        }
        setWait(timer, .timer, of: number)
    }
}
