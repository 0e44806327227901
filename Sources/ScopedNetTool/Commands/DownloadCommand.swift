#if CommandLineTool
import ArgumentParser
import FoundationEssentials
import ScopedNet

struct DownloadCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "download", abstract: "Fetch a URL into a file.",
        discussion: """
            The file is either the old one or the complete new one: it is replaced in one step when all has arrived, and error pages never get \
            there. Interrupted, the command leaves nothing behind; with --continue it leaves what has come, beside the file, and goes on with \
            that the next time. A terminal shows a progress bar on standard error.

              scopednet download -o image.iso https://example.org/image.iso
              scopednet download -O --limit-rate 500k https://example.org/image.iso
            """)

    @Option(name: .shortAndLong, parsing: .unconditional, help: ArgumentHelp("Where to put it. Its folder must exist.", valueName: "file"))
    var output: String?

    @Flag(name: [.customShort("O"), .long], help: "Put it into a file named as the URL's path ends.")
    var remoteName = false

    @Flag(name: [.customShort("c"), .customLong("continue")], help: "Go on where an earlier download to the file broke off.")
    var continues = false

    @OptionGroup var transfer: TransferArguments

    func validate() throws {
        if output != nil, remoteName { throw ValidationError(OutputArguments.twoPlaces) }
        if output == nil, !remoteName { throw ValidationError("Name the file with --output, or give --remote-name.") }
        if let output, output.isEmpty || output.hasSuffix("/") {
            throw ValidationError("--output takes the name of a file, not of a folder.")
        }
        if output == "-" { throw ValidationError("A download goes to a file; scopednet get prints the body. (./- is a file's name.)") }
    }

    func execute() async throws(ToolFailure) {
        guard let output = output ?? RemoteName.of(transfer.url) else {
            throw ToolFailure(.usage, "the path of the URL ends with no name of a file\n  name it, as in -o FILE")
        }
        try FilePlace.checkReplaceable(output)
        try await transfer.withSession(accepting: .success) { session, console, _ throws(ToolFailure) in
            let response: Response<URL>
            do throws(NetworkError) {
                response = try await session.download(transfer.url, to: FilePlace.url(output))
                    .options { $0.downloads.resumes = continues }
                    .response()
            } catch {
                throw try transfer.failure(error, console, transfer.proof())
            }
            console.show("")
            if transfer.json {
                var report = ResponseReport(url: response.url)
                report.add(response.head)
                report.add(response.metrics)
                report.file = output
                try console.print(line: JSONText.line(report))
            } else if console.isLive {
                let metrics = response.metrics
                let seconds = metrics.total / .seconds(1)
                console.report("\(output): \(ProgressBar.bytes(metrics.bodyBytesReceived)) in \(ProgressBar.clock(seconds.rounded(.up)))")
            }
        }
    }
}
#endif
