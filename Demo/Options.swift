import Foundation

/// The command line.
struct Options {
    var urls: [String] = []
    var isFast = false
    var cancelAfter: Duration?
    var folder = URL(filePath: FileManager.default.currentDirectoryPath)
    var wantsHelp = false

    static let help = """
        Usage: Demo [--fast] [--out DIR]
               Demo [--cancel-after SECONDS] [--out DIR] URL...

        Requests that live and die with their owner, shown live.

        Without a URL it starts a server of its own on this machine, opens and closes twelve pages whose view models
        own bags, and shows what becomes of their requests. With URLs it fetches those, all in one page's scope.
        It ends with the census (nothing may be left alive) and the bytes that cancelling saved.

          --fast                   no pauses for the eye and smaller files: for scripts (three seconds)
          --cancel-after SECONDS   close the page of the URLs after that time; what still runs is cancelled
          --out DIR                where scopednet-demo.har and scopednet-demo.html go (default: here)
          -h, --help               this text

        Pictures are shown as graphics of kitty or sixel, as half blocks or as characters, by the variables of the
        terminal. Without a terminal, or with NO_COLOR set, it prints plain lines.

        Exit status: 0 all is well · 1 a URL could not be fetched, or the demo did not go as it should
                     2 wrong usage · 3 something was left alive
        """

    init(_ arguments: [String]) throws(UsageError) {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            switch argument {
            case "--fast": isFast = true
            case "--cancel-after":
                guard let text = rest.popFirst(), let seconds = Double(text), seconds >= 0, seconds < 86_400 else {
                    throw UsageError("--cancel-after needs a number of seconds, such as 1.5")
                }
                cancelAfter = .seconds(seconds)
            case "--out":
                guard let path = rest.popFirst(), !path.isEmpty else { throw UsageError("--out needs a folder") }
                folder = URL(filePath: path)
            case "-h", "--help": wantsHelp = true
            case _ where argument.hasPrefix("-"): throw UsageError("unknown option \(argument)")
            default:
                let scheme = argument.prefix { $0 != ":" }.lowercased()
                guard argument.contains("://"), scheme == "http" || scheme == "https" else {
                    throw UsageError("'\(argument)' is not a URL to fetch: write it with http:// or https://")
                }
                urls.append(argument)
            }
        }
        if cancelAfter != nil, urls.isEmpty { throw UsageError("--cancel-after goes with URLs") }
    }

    struct UsageError: Error, CustomStringConvertible {
        let description: String
        init(_ description: String) { self.description = description }
    }
}
