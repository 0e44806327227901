/// How urgent a request is, compared with others that wait for a connection.
///
/// It orders what waits and stops nothing that runs. Waiting requests age: each few seconds count like one step, so that a
/// request of low priority is late, but never forgotten.
public struct Priority: Sendable, Hashable, Comparable, CaseIterable {
    /// 0 for ``veryLow`` … 4 for ``veryHigh``.
    package let level: UInt8

    private init(level: UInt8) {
        self.level = level
    }

    /// Prefetching and the like.
    public static let veryLow = Priority(level: 0)
    /// Needed soon, but not now.
    public static let low = Priority(level: 1)
    /// The default.
    public static let normal = Priority(level: 2)
    /// Somebody waits for it.
    public static let high = Priority(level: 3)
    /// Everything else waits for it: a token refresh, for example.
    public static let veryHigh = Priority(level: 4)

    /// All priorities, the lowest first.
    public static let allCases: [Priority] = [.veryLow, .low, .normal, .high, .veryHigh]

    /// True for the less urgent one.
    public static func < (left: Priority, right: Priority) -> Bool {
        left.level < right.level
    }
}

extension Priority: CustomStringConvertible {
    /// The name of the step, such as `veryLow`.
    public var description: String {
        switch level {
        case 0: "veryLow"
        case 1: "low"
        case 2: "normal"
        case 3: "high"
        default: "veryHigh"
        }
    }
}
