import SystemSupport

/// The memory of a store: its ``MemoryState`` under the one lock that guards it, and the time by which it decides.
final class StoreMemory: Sendable {
    private let state: Lock<MemoryState>
    private let clocks: Clocks

    init(_ configuration: StoreConfiguration, clocks: Clocks) {
        let writesThrough = configuration.writesThrough || configuration.mode == .shared
        state = Lock(MemoryState(limits: configuration.limits, writesThrough: writesThrough))
        self.clocks = clocks
    }

    /// Decides under the lock. What leaves memory is to be released outside: hand it out.
    @inline(__always)
    func withLock<Result>(_ body: (inout MemoryState) -> Result) -> Result { state.withLock { body(&$0) } }

    var now: MemoryState.Moment { MemoryState.Moment(wall: clocks.wall(), monotonic: clocks.monotonic()) }
}
