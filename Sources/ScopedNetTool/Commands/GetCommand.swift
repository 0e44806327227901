#if CommandLineTool
import ArgumentParser
import HTTPTypes

struct GetCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "get", abstract: "Fetch a URL and write its body to standard output.",
        discussion: """
            The body is written as it arrives, whatever the status; from status 400 on the exit status is 22. Redirects are followed. A terminal \
            shows a progress bar on standard error, and JSON in lines. Where there are data or items of a body, the method is POST.

              scopednet get https://example.org/
              scopednet get https://example.org/search q=='two words' Accept:text/plain
              scopednet get -u ann:secret --timing https://example.org/private
              scopednet get --json https://example.org/ | jq .seconds.total
            """)

    @OptionGroup var request: RequestArguments

    func execute() async throws(ToolFailure) { try await request.execute(.get) }
}
#endif
