#if CommandLineTool
import ArgumentParser
import FoundationEssentials
import Reachability

struct PathCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "path", abstract: "Print how the network, or a host, can be reached now.",
        discussion: """
            The answer is the kernel's own: no packet is sent, but a host's name is resolved. The exit status is 0 when there is a way and 1 when \
            there is none.

              scopednet path
              scopednet path example.org
              scopednet path --wait 30 && ./sync
            """)

    @Option(parsing: .unconditional, help: ArgumentHelp("Wait so many seconds at most until there is a way.", valueName: "seconds"))
    var wait: Double?

    @OptionGroup var target: TargetArguments

    /// How long the name of a host may take.
    private static let resolving: Duration = .seconds(5)

    func validate() throws {
        if let wait, !(wait >= 0 && wait <= 1e9) { throw ValidationError("--wait takes a number of seconds of 0 or more, such as 30.") }
    }

    func execute() async throws(ToolFailure) {
        let monitor = try target.startedMonitor()
        defer { monitor.stop() }
        await settle(monitor)
        guard let path = monitor.currentPath else { throw ToolFailure(.software, "there is no answer") }
        let console = Console()
        if target.json {
            try console.print(line: JSONText.line(PathReport(path, after: nil, target: target.name, time: .now)))
        } else {
            try console.print(line: "\(path)")
        }
        if !path.isSatisfied { throw ToolFailure(.unsatisfied, nil) }
    }

    /// Returns when the path is what was waited for, or the time is over.
    private func settle(_ monitor: ReachabilityMonitor) async {
        let wantsWay = wait != nil
        let limit = wait.map { Duration.seconds($0) } ?? Self.resolving
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for await path in monitor.paths {
                    if wantsWay ? path.isSatisfied : path.status != .unsatisfied(.resolving) { return }
                }
            }
            group.addTask { try? await Task.sleep(for: limit) }
            await group.next()
            group.cancelAll()
        }
    }
}
#endif
