import Reachability

/// The command line.
struct DaemonOptions: Sendable {
    var url = ""
    var interval: Duration = .seconds(30)
    /// The limit of one request, also of the one that is under way when the daemon is told to end.
    var timeout: Duration = .seconds(10)
    var wantsHelp = false

    static let help = """
        Usage: DemoDaemon [--every SECONDS] [--timeout SECONDS] URL

        Asks URL every 30 seconds, or as told, and logs to standard error whether it answers; when it does not, also how the
        network is. A request may take 10 seconds, or as told. SIGTERM and SIGINT end the daemon in order: the request under
        way may finish within that time.

        Under systemd (Type=notify) it reports READY, STOPPING and the network as STATUS.

        Exit status: 0 ended in order · 64 wrong usage · 70 it could not begin or go on
        """

    init(_ arguments: [String]) throws(UsageError) {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            switch argument {
            case "--every": interval = try Self.seconds(argument, rest.popFirst())
            case "--timeout": timeout = try Self.seconds(argument, rest.popFirst())
            case "-h", "--help": wantsHelp = true
            case _ where argument.hasPrefix("-"): throw UsageError("unknown option \(argument)")
            default:
                guard ["http://", "https://"].contains(where: argument.lowercased().hasPrefix), NetworkPath.Target(argument) != nil else {
                    throw UsageError("'\(argument)' is not a URL: write it with http:// or https://")
                }
                guard url.isEmpty else { throw UsageError("one URL is enough") }
                url = argument
            }
        }
        guard wantsHelp || !url.isEmpty else { throw UsageError("a URL is missing") }
    }

    private static func seconds(_ option: String, _ text: String?) throws(UsageError) -> Duration {
        guard let text, let seconds = Double(text), seconds >= 0.01, seconds < 1e9 else {
            throw UsageError("\(option) needs a number of seconds, 0.01 or more, such as 2.5")
        }
        return .seconds(seconds)
    }

    struct UsageError: Error, CustomStringConvertible {
        let description: String
        init(_ description: String) { self.description = description }
    }
}
