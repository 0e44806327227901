#if CommandLineTool
import ArgumentParser
import Reachability
import ScopedNet

/// What `path` and `watch` have in common.
struct TargetArguments: ParsableArguments, Sendable {
    @Argument(help: "A host, an address or a URL to look the way to; without it, the way to the network at large.")
    var host: String?

    @Option(
        parsing: .unconditional, help: ArgumentHelp("Look from this network namespace: a name of 'ip netns', or a path.", valueName: "name")
    )
    var netns: String?

    @Flag(help: "Print JSON objects, one on a line.")
    var json = false

    func validate() throws {
        if let host, NetworkPath.Target(host) == nil {
            throw ValidationError("'\(name)' names no host: write example.org, example.org:443 or a URL.")
        }
    }

    /// - Throws: a ``ToolFailure`` that says why the network cannot be watched.
    func startedMonitor() throws(ToolFailure) -> ReachabilityMonitor {
        var configuration = ReachabilityMonitor.Configuration()
        if let netns { configuration.namespace = .path(netns.contains("/") ? netns : "/run/netns/\(netns)") }
        let monitor = ReachabilityMonitor(target: host.flatMap { NetworkPath.Target($0) } ?? .defaultPath, configuration: configuration)
        do throws(ReachabilityError) { try monitor.start() } catch {
            let advice = error.code == .namespaceUnavailable ? "\n  'ip netns' lists the names; entering one takes root" : ""
            throw ToolFailure(.system, "the network cannot be watched: \(error)\(advice)")
        }
        return monitor
    }

    /// As it was written, but for credentials.
    var name: String { host.map(SecretMask().maskedURL) ?? "default" }
}
#endif
