import Synchronization
import SystemSupport

/// The waits, further bags and hooks of a run. Few runs have any: made with the first of them, and gone with the run at the latest.
final class RunExtras: Sendable {
    struct State {
        var waits = WaitSet()
        var links: [ScopeMember] = []
        var bags: [BagStorage] = []
        /// Of the bags, those that count the run among what is being delivered.
        var counting: [BagStorage] = []
        var hooks: HookBox?
        /// Sees the body of each accepted response while it arrives.
        var bodyWatch: BodyWatch?
    }

    private let state = Lock(State())

    func change<Result>(_ body: (inout State) -> Result) -> Result { state.withLock(body) }

    /// All of it, for the caller to end outside the lock.
    func takeAll() -> State {
        state.withLock { state in
            defer { state = State() }
            return state
        }
    }

    /// One pointer of a run, which any thread may be the first to need.
    struct Slot: ~Copyable {
        // Safety: the word is nil or a reference that this slot owns. It is stored once, by whoever's exchange finds none, and released with
        // the slot, which its run outlives no use of.
        private let reference = Atomic<UInt>(0)

        deinit { Self.unmanaged(reference.load(ordering: .acquiring))?.release() }

        private static func unmanaged(_ bits: UInt) -> Unmanaged<RunExtras>? { UnsafeRawPointer(bitPattern: bits).map { .fromOpaque($0) } }

        /// Nil for most runs, for ever.
        var extras: RunExtras? { Self.unmanaged(reference.load(ordering: .sequentiallyConsistent))?.takeUnretainedValue() }

        func make() -> RunExtras {
            if let extras { return extras }
            let made = Unmanaged.passRetained(RunExtras())
            let bits = UInt(bitPattern: made.toOpaque())
            let (isMine, other) = reference.compareExchange(expected: 0, desired: bits, ordering: .sequentiallyConsistent)
            if isMine { return made.takeUnretainedValue() }
            // Another thread was faster.
            made.release()
            return Self.unmanaged(other)?.takeUnretainedValue() ?? RunExtras()
        }
    }
}
