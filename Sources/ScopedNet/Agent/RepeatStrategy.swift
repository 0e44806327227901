/// The rule for a start while an earlier run of the same object, or with the same key, is in flight.
///
/// Check and start are one step. Each strategy has two names, which are equal: one for the runs that result, ``concurrent``,
/// ``replaceRunning`` and ``keepRunning``, and one for the start that loses.
public enum RepeatStrategy: Sendable, Hashable {
    /// Another name of ``concurrent``.
    case allowAll
    /// Another name of ``replaceRunning``.
    case cancelOldest
    /// Another name of ``keepRunning``.
    case cancelNewest

    /// Each start is a run of its own. The default.
    public static var concurrent: RepeatStrategy { .allowAll }
    /// The earlier runs are cancelled with ``CancelReason/replaced``, and the new one runs: search as you type.
    public static var replaceRunning: RepeatStrategy { .cancelOldest }
    /// The earlier run continues, and the start is refused: data that changes slowly. `start` answers
    /// the run under way with ``Run/wasRefused``, an `await` throws ``NetworkError/Code/duplicateRequest``.
    public static var keepRunning: RepeatStrategy { .cancelNewest }
}
