import GLibMainLoop
import Glibc

// `GLibProbe SCENARIO`: prints one line for each thing that happens, which `MainQueueBridgeTests` reads. No `await` at this level: it would make a
// job of the main actor out of the main loop.

let scenarios: [String: @MainActor () throws -> Void] = [
    "tasks": Scenarios.tasks, "before": Scenarios.queuedBefore, "thread": Scenarios.otherThread, "twice": Scenarios.twice,
    "uninstall": Scenarios.uninstalling, "nested": Scenarios.nestedInWork, "callback": Scenarios.nestedInCallback,
    "endless": Scenarios.endlessWork, "article": main,
    "idle": Figures.idle, "hop": Figures.hop,
]
guard CommandLine.arguments.count == 2, let scenario = scenarios[CommandLine.arguments[1]] else {
    print("scenarios: \(scenarios.keys.sorted().joined(separator: " "))")
    exit(2)
}
do { try scenario() } catch {
    print("error: \(error)")
    exit(1)
}
