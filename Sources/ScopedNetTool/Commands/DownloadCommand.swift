#if CommandLineTool
import ArgumentParser
import FoundationEssentials
import Glibc
import ScopedNet

struct DownloadCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "download", abstract: "Fetch a URL into a file.",
        discussion: """
            The file is either the old one or the complete new one: it is replaced in one step when all has arrived, and error pages never get \
            there. Interrupted, the command leaves nothing behind. A terminal shows a progress bar on standard error.

              scopednet download -o image.iso https://example.org/image.iso
            """)

    @Option(name: .shortAndLong, help: ArgumentHelp("Where to put it. Its folder must exist.", valueName: "file"))
    var output: String

    @OptionGroup var transfer: TransferArguments

    func validate() throws {
        if output.isEmpty || output.hasSuffix("/") { throw ValidationError("--output takes the name of a file, not of a folder.") }
    }

    /// Before anything is fetched in vain.
    private func checkPlace() throws(ToolFailure) {
        var status = stat()
        guard stat(output, &status) == 0 else { return }
        switch status.st_mode & S_IFMT {
        case S_IFREG: return
        case S_IFDIR: throw ToolFailure(.cannotWrite, "\(output) is a folder\n  name the file, as in -o \(output)/FILE")
        default: throw ToolFailure(.cannotWrite, "\(output) is no file that could be replaced\n  \(Advice.noFile)")
        }
    }

    func execute() async throws(ToolFailure) {
        try checkPlace()
        try await transfer.withSession(accepting: .success) { session, console throws(ToolFailure) in
            // A relative one would have its `~` expanded, and its `..` taken away without a look at links.
            let path = output.hasPrefix("/") ? output : "\(FileManager.default.currentDirectoryPath)/\(output)"
            let response: Response<URL>
            do throws(NetworkError) {
                response = try await session.download(transfer.url, to: URL(filePath: path)).response()
            } catch {
                throw try transfer.failure(error, console)
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
