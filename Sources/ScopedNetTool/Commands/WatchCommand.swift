#if CommandLineTool
import ArgumentParser
import FoundationEssentials
import Reachability

struct WatchCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch", abstract: "Print how the network, or a host, can be reached, and every change.",
        discussion: """
            One line for the path as it is, and one for each change, until Ctrl-C. The kernel tells of changes; nothing is polled and no packet is \
            sent.

              scopednet watch
              scopednet watch --json example.org | jq -r .status
            """)

    @Option(name: [.customShort("n"), .long], parsing: .unconditional, help: ArgumentHelp("End after so many lines.", valueName: "count"))
    var count: Int?

    @OptionGroup var target: TargetArguments

    func validate() throws {
        if let count, count < 1 { throw ValidationError("--count takes a count of 1 or more.") }
    }

    func execute() async throws(ToolFailure) {
        let monitor = try target.startedMonitor()
        defer { monitor.stop() }
        let console = Console()
        if case .polling(let interval) = monitor.backend {
            console.report("scopednet: the kernel refuses to tell of changes here; looking every \(interval)")
        }
        // Not `paths`, which keeps the newest only: a loss that lasted for a moment is what one watches for.
        let (changes, continuation) = AsyncStream.makeStream(
            of: NetworkPath.self, bufferingPolicy: .bufferingNewest(4_096))
        let subscription = monitor.observe { path, _ in continuation.yield(path) }
        defer { subscription.cancel() }
        console.whenReaderLeaves { continuation.finish() }
        var left = count ?? .max
        var last: PathReport?
        for await path in changes {
            let report = PathReport(path, after: last, target: target.name, time: .now)
            try console.print(line: target.json ? JSONText.line(report) : "\(report.time)  \(path)")
            last = report
            left -= 1
            if left == 0 { return }
        }
        if !Task.isCancelled { throw .brokenPipe }
    }
}
#endif
