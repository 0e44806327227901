extension SystemdNotifier {
    /// Reports each change of an activity as `STATUS=`, until the changes end or the task is cancelled. A manager that does not read changes nothing.
    ///
    /// ```swift
    /// indicator.isEnabled = true
    /// await notifier.reportStatus(of: indicator.makeChanges(), active: "transferring", idle: "waiting for work")
    /// ```
    ///
    /// - Parameters:
    ///   - changes: true where the activity begins, false where it ends; those of a `NetworkActivityIndicator`, say.
    ///   - active: the line for true.
    ///   - idle: the line for false.
    @concurrent
    public func reportStatus<Changes: AsyncSequence & Sendable>(
        of changes: Changes, active: String, idle: String
    ) async where Changes.Element == Bool, Changes.Failure == Never {
        for await isActive in changes { try? notify(.status(isActive ? active : idle)) }
    }
}
