#if CommandLineTool
import ArgumentParser
import HTTPTypes

// The commands that differ from `get` in their method, and in nothing else.

struct PostCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "post", abstract: "Send data or a form to a URL, and print the response.",
        discussion: """
            Items make the body: JSON unless --form or --multipart says otherwise, a multipart form where one of them is a file.

              scopednet post https://example.org/items name=Ann age:=41 'tags:=["a", "b"]'
              scopednet post --form https://example.org/login user=ann password=@secret.txt
              scopednet post https://example.org/photos title=Sea photo@beach.jpg
              scopednet post -d @table.csv -H Content-Type:text/csv https://example.org/t
            """)

    @OptionGroup var request: RequestArguments

    func execute() async throws(ToolFailure) { try await request.execute(.post) }
}

struct PutCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "put", abstract: "As post, with the method PUT.",
        discussion: "  scopednet put https://example.org/items/7 name=Ann\n\n'scopednet upload' sends a file as it is.")

    @OptionGroup var request: RequestArguments

    func execute() async throws(ToolFailure) { try await request.execute(.put) }
}

struct PatchCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "patch", abstract: "As post, with the method PATCH.",
        discussion: "  scopednet patch https://example.org/items/7 age:=42")

    @OptionGroup var request: RequestArguments

    func execute() async throws(ToolFailure) { try await request.execute(.patch) }
}

struct DeleteCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete", abstract: "Ask a server to delete what is at a URL.",
        discussion: "  scopednet delete https://example.org/items/7")

    @OptionGroup var request: RequestArguments

    func execute() async throws(ToolFailure) { try await request.execute(.delete) }
}

struct HeadCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "head", abstract: "Print status and header fields of what is at a URL.",
        discussion: "Nothing of the body is fetched.\n\n  scopednet head https://example.org/image.iso")

    @OptionGroup var request: RequestArguments

    func validate() throws {
        if request.data != nil || request.form || request.multipart || request.items.contains(where: { RequestItem($0)?.isBody ?? false }) {
            throw ValidationError("A HEAD request has no body.")
        }
    }

    func execute() async throws(ToolFailure) { try await request.execute(.head) }
}
#endif
