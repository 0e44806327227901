import Foundation
import Glibc
import Persistence
import ScopedNet

/// GETs of 1 KiB through a session.
struct RequestBench {
    enum Case: String, CaseIterable {
        case none = "no-cache"
        case cold = "cold-miss"
        case memory = "memory-hit"
        case disk = "disk-hit"
        case validated = "validated"
    }

    struct Cost: CustomStringConvertible {
        /// Of the process, background writes included.
        var cpu = 0.0
        var wall = 0.0

        var description: String { String(format: "%8.1f CPU %8.1f wall", cpu, wall) }
    }

    let url: String
    let folder: String

    func run(rounds: Int, inFlight: Int) async {
        print("\n\(inFlight) in flight")
        var costs: [Case: [Cost]] = [:]
        for round in 0..<rounds {
            for name in Case.allCases {
                costs[name, default: []].append(await measure(name, inFlight: inFlight, count: 4_000, round: round))
            }
        }
        let plain = costs[.none] ?? []
        for name in Case.allCases {
            let all = costs[name] ?? []
            let (cpu, wall) = (median(all.map(\.cpu)), median(all.map(\.wall)))
            // Within each round: a machine that is slow is slow for both.
            let ratios = (median(zip(all, plain).map { $0.cpu / $1.cpu }), median(zip(all, plain).map { $0.wall / $1.wall }))
            print(
                "  \(name.rawValue.padding(toLength: 12, withPad: " ", startingAt: 0))"
                    + String(format: "%8.1f CPU (%.2f) %8.1f wall (%.2f)", cpu, ratios.0, wall, ratios.1))
        }
    }

    func measure(_ name: Case, inFlight: Int, count: Int, round: Int) async -> Cost {
        let path = "\(folder)/\(name.rawValue)-\(inFlight)-\(round)"
        var configuration = Session.Configuration(agent: RequestAgent())
        configuration.proxy = .none
        var store = StoreConfiguration(directory: path)
        if name == .disk { store.limits.memoryBytes = 0 }
        let cache = name == .none ? nil : ResponseCache(store)
        configuration.cache = cache
        if name == .validated { configuration.options.cache.read = .revalidate }
        let session = Session(configuration: configuration)
        await cache?.store.opened()
        let keys = name == .cold ? count : 256
        // Connections, and what is to be found.
        if name != .cold { await ask(session, 2 * keys, keys, inFlight) } else { await ask(session, 64, 64, inFlight, prefix: "warm") }
        try? await cache?.flush()
        let (cpu, wall) = (clock(CLOCK_PROCESS_CPUTIME_ID), clock(CLOCK_MONOTONIC))
        await ask(session, count, keys, inFlight)
        let end = clock(CLOCK_MONOTONIC)
        try? await cache?.flush()
        let cost = Cost(cpu: (clock(CLOCK_PROCESS_CPUTIME_ID) - cpu) / Double(count), wall: (end - wall) / Double(count))
        if let statistics = cache?.statistics { check(name, statistics, count) }
        await session.shutdown()
        await cache?.store.close()
        try? FileManager.default.removeItem(atPath: path)
        return cost
    }

    private func ask(_ session: Session, _ count: Int, _ keys: Int, _ inFlight: Int, prefix: String = "item") async {
        await withTaskGroup(of: Void.self) { group in
            for lane in 0..<inFlight {
                group.addTask {
                    for index in stride(from: lane, to: count, by: inFlight) {
                        do {
                            let response = try await session.send("\(url)/\(prefix)/\(index % keys)")
                            guard response.value.count == 1024 else { fail("\(response.value.count) bytes") }
                        } catch {
                            fail("\(error)")
                        }
                    }
                }
            }
        }
    }

    /// That the case is what its name says.
    private func check(_ name: Case, _ statistics: ResponseCache.Statistics, _ count: Int) {
        let isRight =
            switch name {
            case .none: true
            case .cold: statistics.misses >= count
            case .memory, .disk: statistics.hits >= count
            case .validated: statistics.validated >= count
            }
        if !isRight { fail("\(name): \(statistics)") }
    }

    private func clock(_ id: clockid_t) -> Double {
        var time = timespec()
        clock_gettime(id, &time)
        return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
    }
}

func median(_ values: [Double]) -> Double {
    let sorted = values.sorted()
    return sorted.isEmpty ? 0 : sorted[sorted.count / 2]
}

func fail(_ message: String) -> Never {
    print("failed: \(message)")
    exit(1)
}
