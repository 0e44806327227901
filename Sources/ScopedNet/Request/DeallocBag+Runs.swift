extension DeallocBag {
    /// Puts a running request in this bag too; it may be in several, and the first to end cancels it.
    ///
    /// - Returns: false when the bag had ended (the run is cancelled) or the run has.
    @discardableResult
    public func insert(_ run: Run) -> Bool { run.core.join(storage) }
}
