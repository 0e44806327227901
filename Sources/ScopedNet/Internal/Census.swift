import Synchronization
import SystemSupport

/// Where tests hear of the objects the library makes: each test's own census, found through a task-local value, so that tests that run
/// side by side do not see each other.
///
/// While no census listens anywhere in the process, an object costs one relaxed load more.
package enum Census {
    /// Who listens to what the current task makes.
    @TaskLocal package static var listener: (any CensusListener)?

    private static let listeners = Atomic<Int>(0)

    package static func open() { listeners.add(1, ordering: .relaxed) }
    package static func close() { listeners.subtract(1, ordering: .relaxed) }

    /// Makes the ticket of a new object; nil when no census listens.
    ///
    /// - Parameter maker: its listener is taken where the task has none: callbacks on a queue belong to no task, but their session does.
    /// - Returns: a ticket to hold for as long as the object lives.
    @inline(__always)
    package static func ticket(inheriting maker: CensusTicket? = nil) -> CensusTicket? {
        guard listeners.load(ordering: .relaxed) != 0 else { return nil }
        return makeTicket(maker)
    }

    @inline(never)
    private static func makeTicket(_ maker: CensusTicket?) -> CensusTicket? {
        (listener ?? maker?.listener).map { CensusTicket($0) }
    }

    /// For what lives as long as the process, whoever asks for it first.
    package static func unseen<Result>(_ body: () -> Result) -> Result { $listener.withValue(nil) { body() } }
}

/// Held by an object a census knows; its end is the object's.
package final class CensusTicket: Sendable {
    package let number = Identifier.next()
    package let listener: any CensusListener
    private let ending = Lock<CensusEnding?>(nil)
    /// The handles of the object that the user has.
    private let handles = Atomic<Int>(0)

    fileprivate init(_ listener: any CensusListener) { self.listener = listener }

    deinit { listener.died(number, ending.withLock { $0 }) }

    /// When the object is whole.
    package func watch(_ member: some CensusMember, _ kind: LiveObjects.Kind, origin: String, name: String = "", closures: [String] = []) {
        listener.born(
            CensusBirth(number: number, kind: kind, origin: origin, name: name, closures: closures, time: monotonicNow()), member)
    }

    /// The object's last word, if it has one.
    package func note(_ ending: CensusEnding) { self.ending.withLock { $0 = ending } }

    /// The user was given one more way to hold the object, or let one go.
    package func noteHandle(_ change: Int) { handles.add(change, ordering: .relaxed) }
    package var handleCount: Int { handles.load(ordering: .relaxed) }

    /// What is made in `body` belongs to the same census.
    package func listening(_ body: () -> Void) { Census.$listener.withValue(listener) { body() } }
}

/// A census; ``CensusTicket`` tells it. Any thread, never under a lock of the library.
package protocol CensusListener: AnyObject, Sendable {
    func born(_ birth: CensusBirth, _ member: some CensusMember)
    func died(_ number: UInt64, _ ending: CensusEnding?)
}

/// What a census knows of an object from its first moment on.
package struct CensusBirth: Sendable {
    package let number: UInt64
    package let kind: LiveObjects.Kind
    package let origin: String
    package let name: String
    /// "onSuccess at File.swift:12"
    package let closures: [String]
    package let time: UInt64
}

/// An object that can be asked about itself while it lives.
package protocol CensusMember: AnyObject, Sendable {
    var censusState: CensusState { get }
}

/// What a living object says when asked.
package struct CensusState: Sendable {
    /// Work of its own goes on.
    package var isInFlight = false
    /// It has ended, though it is alive.
    package var isOver = false
    package var text = ""
    /// The library's tables it is in.
    package var tables: [String] = []
    /// The user's own handles of it, such as ``Run``.
    package var handles = 0
    /// Closures it holds right now.
    package var closures: [String] = []
    /// The tickets of what it keeps alive.
    package var holds: [UInt64] = []
    package var ending: CensusEnding?

    package init() {}
}

/// How a run ended.
package enum CensusEnding: Sendable, Equatable {
    case neverStarted
    case ended
    case cancelled(CancelReason)
    /// A request that went although closures were registered for its next start; the sentence says which.
    case forgotten(String)
}
