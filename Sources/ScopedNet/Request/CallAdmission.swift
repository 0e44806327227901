// Pure: no clock, lock, thread or import. The model check compiles this very file.

/// The decision whether one call to user code begins: what the run's gate answered, and then what its bags say.
///
/// The gate is asked first. A bag's end is one store that every admission looks at after its own step, so that one of the two sees the other.
package enum CallAdmission: Equatable, Sendable {
    /// The call begins.
    case call
    /// No call begins, and the run ends cancelled: nothing has been called since the gate admitted.
    case withdraw
    /// No call begins.
    case refuse

    /// Decides about a call of an event, and about the first that says how the run ended.
    package init(_ gate: RunLifecycle.Admission, bagHasEnded: Bool) {
        switch gate {
        case .refused: self = .refuse
        case .admitted: self = bagHasEnded ? .withdraw : .call
        }
    }

    /// Decides about a further call that says how the run ended.
    ///
    /// `wasCancelledInBag` is true when, since the outcome was admitted, a bag that the run had been in has cancelled its members.
    package init(further gate: RunLifecycle.Admission, bagHasEnded: Bool, wasCancelledInBag: Bool) {
        switch gate {
        case .refused: self = .refuse
        case .admitted: self = bagHasEnded || wasCancelledInBag ? .refuse : .call
        }
    }
}
