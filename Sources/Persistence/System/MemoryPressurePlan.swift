import FoundationEssentials

/// Where to listen for memory pressure, and what to write there first. Pure.
struct MemoryPressurePlan: Sendable, Equatable {
    /// Where the kernel's files are; tests have their own.
    struct Roots: Sendable {
        var membership: String
        var controlGroups: [String]
        var machine: String

        static let system = Roots(
            membership: "/proc/self/cgroup", controlGroups: ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"], machine: "/proc/pressure/memory")
    }

    var source: MemoryPressureMonitor.Source
    var path: String
    var write: Data

    /// 150 ms of stall in 2 s: a process without privileges may watch windows of whole multiples of 2 s only. The kernel wants the NUL.
    static let trigger = Data("some 150000 2000000\0".utf8)

    /// The sources to try, the best first; none when the service manager turned it off.
    ///
    /// `controlGroups` has the contents of `/proc/self/cgroup` (cgroups(7)).
    static func plans(environment: [String: String], controlGroups: String, roots: Roots) -> [MemoryPressurePlan] {
        if let path = environment["MEMORY_PRESSURE_WATCH"], !path.isEmpty {
            guard path != "/dev/null", path.hasPrefix("/") else { return [] }
            let write = environment["MEMORY_PRESSURE_WRITE"].flatMap { Data(base64Encoded: $0) } ?? Data()
            return [MemoryPressurePlan(source: .serviceManager(path: path), path: path, write: write)]
        }
        var plans: [MemoryPressurePlan] = []
        if let group = unifiedGroup(controlGroups), group != "/" {
            for root in roots.controlGroups {
                let path = "\(root)\(group)/memory.pressure"
                plans.append(MemoryPressurePlan(source: .controlGroup(path: path), path: path, write: trigger))
            }
        }
        return plans + [MemoryPressurePlan(source: .machine, path: roots.machine, write: trigger)]
    }

    /// The line `0::/path` is that of version 2.
    private static func unifiedGroup(_ text: String) -> String? {
        for line in text.split(whereSeparator: \.isNewline) where line.hasPrefix("0::/") { return String(line.dropFirst(3)) }
        return nil
    }
}
