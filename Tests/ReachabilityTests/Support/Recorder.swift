import Foundation
import Testing

@testable import Reachability

/// What a monitor told, and a way to wait for what it will tell.
final class Recorder: @unchecked Sendable {
    // Safety: the paths are touched under the condition's lock only.
    private let condition = NSCondition()
    private var recorded: [NetworkPath] = []
    private var subscription: ReachabilityMonitor.Subscription?
    private let monitor: ReachabilityMonitor

    init(_ monitor: ReachabilityMonitor) {
        self.monitor = monitor
        subscription = monitor.observe { [weak self] path, _ in self?.record(path) }
    }

    private func record(_ path: NetworkPath) {
        condition.lock()
        recorded.append(path)
        condition.broadcast()
        condition.unlock()
    }

    var paths: [NetworkPath] {
        condition.lock()
        defer { condition.unlock() }
        return recorded
    }

    var last: NetworkPath? { paths.last }

    func cancel() { subscription?.cancel() }

    /// Waits for the current path to be so; false when it has not become so in time.
    func wait(_ seconds: Double = 10, until isRight: (NetworkPath) -> Bool) -> Bool {
        let deadline = Date(timeIntervalSinceNow: seconds)
        condition.lock()
        defer { condition.unlock() }
        while true {
            if let path = monitor.currentPath, isRight(path), recorded.last?.generation == path.generation { return true }
            if !condition.wait(until: deadline) { return monitor.currentPath.map(isRight) ?? false }
        }
    }

    /// Waits, and records an issue when it does not become so. A closure inside `#expect` itself may be miscompiled (Swift 6.3.1).
    func expect(_ seconds: Double = 10, _ location: SourceLocation = #_sourceLocation, isRight: (NetworkPath) -> Bool) {
        guard !wait(seconds, until: isRight) else { return }
        Issue.record("it is \(monitor.currentPath?.description ?? "nothing"), after \(paths.suffix(4))", sourceLocation: location)
    }

    /// Waits for the next telling, whatever it is, or until the time is over.
    func waitForAnything(_ seconds: Double) {
        condition.lock()
        _ = condition.wait(until: Date(timeIntervalSinceNow: seconds))
        condition.unlock()
    }
}

enum Environment {
    static let isSoaking = ProcessInfo.processInfo.environment["SCOPEDNET_SOAK"] == "1"
    /// The bars are held against the figures: for a machine that does nothing else (`Scripts/reachability-figures`).
    static let holdsBars = ProcessInfo.processInfo.environment["SCOPEDNET_FIGURES"] == "1"
    static let isQuick = ProcessInfo.processInfo.environment["SCOPEDNET_QUICK"] == "1"
    /// Takes up a run of chance again that found something: `SCOPEDNET_SEED=n`.
    static let seed = ProcessInfo.processInfo.environment["SCOPEDNET_SEED"].flatMap { UInt64($0) }
    /// A sanitizer makes everything several times slower: figures are not held against it.
    static let isSanitized = dlsym(nil, "__tsan_init") != nil || dlsym(nil, "__asan_init") != nil
    #if DEBUG
    static let isOptimised = false
    #else
    static let isOptimised = true
    #endif
}
