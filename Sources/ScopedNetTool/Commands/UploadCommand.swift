#if CommandLineTool
import ArgumentParser
import FoundationEssentials
import HTTPTypes
import ScopedNet

struct UploadCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "upload", abstract: "Send a file to a URL, as it is.",
        discussion: """
            The file is read while it is sent, with its length known before; standard input (-) is sent in chunks. The type is that of the file's \
            extension unless --type or -H names one. The response is printed. A terminal shows a progress bar on standard error.

              scopednet upload photo.jpg https://example.org/photos
              scopednet upload -X PUT --limit-rate 500k backup.tar https://example.org/backups/today
              tar c folder | scopednet upload - https://example.org/archives
            """)

    @Argument(help: "The file to send; - is standard input.")
    var file: String

    @OptionGroup var transfer: TransferArguments

    @Option(name: [.customShort("X"), .long], help: "The method.")
    var method = "POST"

    @Option(parsing: .unconditional, help: ArgumentHelp("The media type of the file, such as image/png.", valueName: "type"))
    var type: String?

    @Flag(help: "Send the file compressed (gzip), to a server that is known to take it.")
    var compress = false

    @OptionGroup(title: "Response") var output: OutputArguments

    func validate() throws {
        if HTTPRequest.Method(method) == nil { throw ValidationError("'\(method)' is no method of HTTP, such as PUT.") }
        if let type, MediaType(type) == nil { throw ValidationError("'\(type)' is no media type, such as image/png.") }
        if transfer.json, output.output != nil || output.remoteName || output.include {
            throw ValidationError("--json prints the whole response; leave out --output, --remote-name and --include.")
        }
    }

    func execute() async throws(ToolFailure) {
        // The standard input of a process can be read once.
        let body: RequestBody = file == "-" ? .stream(StandardInput.Pieces()) : .file(FilePlace.url(file).path)
        let printer = ResponsePrinter(
            transfer: transfer, output: output, method: HTTPRequest.Method(method) ?? .post, url: transfer.url, fields: fields,
            body: compress ? body.compressed() : body)
        try await printer.execute()
    }

    private var fields: HTTPFields {
        let isGiven = transfer.fieldNames.contains("content-type")
        let type = type ?? (isGiven ? nil : file == "-" ? "application/octet-stream" : MediaType.forFile(named: file))
        return type.map { [.contentType: $0] } ?? [:]
    }
}
#endif
