internal import Foundation
@_spi(Census) internal import ScopedNet
internal import ScopedNetTesting
import SystemSupport

/// What this process has open and which of its threads belong to the house: its own, the monitor's and the test servers'.
///
/// Counted by kind, because the platform keeps some things for good: Dispatch the descriptors of its clocks, a thread or two for its queues.
package struct ProcessInventory: Equatable, Sendable {
    /// "scopednet" → 2
    private(set) var threads: [String: Int] = [:]
    /// "socket" → 3, "/tmp/x" → 1
    private(set) var descriptors: [String: Int] = [:]
    /// "easyHandle" → 1, the whole process over; each test's own census is the finer one.
    private(set) var objects: [String: Int] = [:]

    /// The thread of a session, of a monitor, of a store, of a server's event loop. libcurl's resolver threads bear the name of the thread that
    /// made them.
    private static let threadNames = ["scopednet", "reachability", "NIO-ELT"]

    package static func now() -> ProcessInventory {
        var inventory = ProcessInventory()
        for task in entries(of: "/proc/self/task") {
            let name = FileManager.default.contents(atPath: "/proc/self/task/\(task)/comm") ?? Data()
            let text = String(decoding: name, as: UTF8.self)
            if let name = threadNames.first(where: { text.hasPrefix($0) }) { inventory.threads[name, default: 0] += 1 }
        }
        // Those that the library made itself, also where the kernel has no name for them yet.
        inventory.threads.merge(SystemThread.census) { max($0, $1) }
        for descriptor in entries(of: "/proc/self/fd") {
            // One of them is the folder being read, which is closed again by now.
            guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)") else { continue }
            inventory.descriptors[kind(of: target), default: 0] += 1
        }
        let snapshot = LiveObjects.snapshot()
        for kind in LiveObjects.Kind.allCases where snapshot[kind] != 0 { inventory.objects["\(kind)"] = snapshot[kind] }
        return inventory
    }

    /// Whether a thread of the house runs.
    package var hasThreads: Bool { !threads.isEmpty }

    private static func entries(of folder: String) -> [String] { (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] }

    /// `socket:[4711]` is a socket, `anon_inode:[eventpoll]` an eventpoll, everything else itself.
    static func kind(of target: String) -> String {
        if target.hasPrefix("anon_inode:") { return String(target.dropFirst("anon_inode:".count).filter { !"[]".contains($0) }) }
        return target.hasPrefix("/") ? target : String(target.prefix { $0 != ":" })
    }

    /// What there is more of than in `before`, in words; nil when there is nothing.
    package func excess(over before: ProcessInventory) -> String? {
        let excess =
            Self.excess(threads, before.threads, "thread") + Self.excess(descriptors, before.descriptors, "descriptor")
            + Self.excess(objects, before.objects, "object")
        return excess.isEmpty ? nil : excess.joined(separator: ", ")
    }

    private static func excess(_ now: [String: Int], _ before: [String: Int], _ what: String) -> [String] {
        now.sorted { $0.key < $1.key }.compactMap { name, count in
            let known = before[name] ?? 0
            // The clocks of Dispatch: one for each kind of time that was ever waited for.
            guard count > known, name != "timerfd" else { return nil }
            // The sanitizer talks to its symbolizer through two of them, from its first report on.
            if name == "pipe", UnreachableHeap.isChecked { return nil }
            return "\(what) \(name): \(known) became \(count)"
        }
    }
}
