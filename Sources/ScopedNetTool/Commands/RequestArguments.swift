#if CommandLineTool
import ArgumentParser
import HTTPTypes
import ScopedNet

/// What the commands that send a request and print its response have in common.
struct RequestArguments: ParsableArguments, Sendable {
    @OptionGroup var transfer: TransferArguments

    @Argument(
        help: ArgumentHelp(
            "Members of the body and more: name=text, name:=JSON, name@FILE, name==query, Name:field.", valueName: "item"))
    var items: [String] = []

    @Option(name: [.customShort("X"), .long], help: "Another method than the command's.")
    var method: String?

    @Option(
        name: .shortAndLong, parsing: .unconditional,
        help: ArgumentHelp("The body to send; @FILE reads a file, @- standard input. A form, unless -H says otherwise.", valueName: "data"))
    var data: String?

    @Flag(help: "Send the items as a form, not as JSON.")
    var form = false

    @Flag(help: "Send the items as a multipart form, as is done where one is a file.")
    var multipart = false

    @Flag(help: "Send the body compressed (gzip), to a server that is known to take it.")
    var compress = false

    @OptionGroup(title: "Response") var output: OutputArguments

    func validate() throws {
        if let method, HTTPRequest.Method(method) == nil { throw ValidationError("'\(method)' is no method of HTTP, such as PUT.") }
        if transfer.json, output.output != nil || output.remoteName || output.include {
            throw ValidationError("--json prints the whole response; leave out --output, --remote-name and --include.")
        }
        do throws(RequestPlan.Misuse) { _ = try plan() } catch { throw ValidationError(error.message) }
    }

    private func plan() throws(RequestPlan.Misuse) -> RequestPlan {
        try RequestPlan(items: items, data: data, isForm: form, isMultipart: multipart, givenFields: transfer.fieldNames)
    }

    /// Sends the request and prints its response.
    ///
    /// `command` is the method where none is named.
    func execute(_ command: HTTPRequest.Method) async throws(ToolFailure) {
        let plan: RequestPlan
        do throws(RequestPlan.Misuse) { plan = try self.plan() } catch { throw ToolFailure(.usage, error.message) }
        let printer = ResponsePrinter(
            transfer: transfer, output: output, method: plan.method(method.flatMap { HTTPRequest.Method($0) }, of: command),
            url: plan.url(transfer.url), fields: plan.fields, body: compress ? try plan.body()?.compressed() : try plan.body())
        try await printer.execute()
    }
}
#endif
