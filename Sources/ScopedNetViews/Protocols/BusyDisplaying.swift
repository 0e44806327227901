/// A view that shows that something is going on: a spinner, or the header of a list that refreshes.
///
/// ``BusySlot`` holds it weakly and calls it on the main actor alone, where the value changes.
@MainActor public protocol BusyDisplaying: AnyObject {
    /// Starts or stops.
    ///
    /// - Parameter isBusy: true to turn, or to refresh; false to stop.
    func setBusy(_ isBusy: Bool)
}
