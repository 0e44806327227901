public import Testing

/// Waits until something holds that no event tells of: a count of another thread, an object that is on its way out. Looks each millisecond, and records an issue
/// when the limit is over: a loop that spins would outlive its test.
public func eventually(
    within limit: Duration = .seconds(20), sourceLocation: SourceLocation = #_sourceLocation, _ holds: () -> Bool
) async {
    let end = ContinuousClock.now + limit
    while !holds() {
        guard ContinuousClock.now < end, !Task.isCancelled else {
            Issue.record("it did not come true within \(limit)", sourceLocation: sourceLocation)
            return
        }
        // A look again and again, for states that announce no change.
        try? await Task.sleep(for: .milliseconds(1))
    }
}
