#if CommandLineTool
import ArgumentParser
import FoundationEssentials
import HTTPTypes
import ScopedNet

struct GetCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "get", abstract: "Fetch a URL and write its body to standard output.",
        discussion: """
            The body is written as it arrives, whatever the status; from status 400 on the exit status is 22. Redirects are followed. A terminal \
            shows a progress bar on standard error.

              scopednet get https://example.org/
              scopednet get -H 'Content-Type: application/json' -d '{"name": "x"}' https://example.org/items
              scopednet get --json https://example.org/ | jq .seconds.total
            """)

    @Option(name: [.customShort("X"), .long], help: "The method. GET, or POST where there are data.")
    var method: String?

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("The body to send; @FILE reads a file, @- standard input. A form, unless -H says otherwise.", valueName: "data"))
    var data: String?

    @OptionGroup var transfer: TransferArguments

    func validate() throws {
        if let method, HTTPRequest.Method(method) == nil { throw ValidationError("'\(method)' is no method of HTTP, such as PUT.") }
    }

    func execute() async throws(ToolFailure) {
        let body = try requestBody()
        try await transfer.withSession(accepting: .any) { session, console throws(ToolFailure) in
            let status =
                transfer.json ? try await report(session, console, body: body) : try await copy(session, console, body: body)
            guard status >= 400 else { return }
            let advice = Advice.about(status: status).map { "\n  \($0)" } ?? ""
            throw ToolFailure(.httpError, "\(transfer.shownURL): the server answered \(status)\(advice)")
        }
    }

    private var requestMethod: HTTPRequest.Method {
        method.flatMap { HTTPRequest.Method($0) } ?? (data == nil ? .get : .post)
    }

    private func requestBody() throws(ToolFailure) -> RequestBody? {
        guard let data else { return nil }
        guard data.hasPrefix("@") else { return .data(Data(data.utf8)) }
        let path = String(data.dropFirst())
        guard path == "-" else { return .file(path) }
        return .data(try StandardInput.read())
    }

    /// What the request adds to the session's own fields.
    private var fields: HTTPFields {
        let isTyped = transfer.headers.contains { $0.lowercased().hasPrefix("content-type:") }
        return data == nil || isTyped ? [:] : [.contentType: "application/x-www-form-urlencoded"]
    }

    private func copy(_ session: Session, _ console: Console, body: RequestBody?) async throws(ToolFailure) -> Int {
        let response: StreamedResponse
        do throws(NetworkError) {
            response = try await session.stream(transfer.url, method: requestMethod, headers: fields, body: body)
        } catch {
            throw try transfer.failure(error, console)
        }
        var pieces = response.bytes.makeAsyncIterator()
        while let piece = try await next(&pieces, console) { try console.print(piece) }
        return response.head.status
    }

    private func next(_ pieces: inout StreamedBytes.AsyncIterator, _ console: Console) async throws(ToolFailure) -> Data? {
        do throws(NetworkError) { return try await pieces.next() } catch { throw try transfer.failure(error, console) }
    }

    private func report(_ session: Session, _ console: Console, body: RequestBody?) async throws(ToolFailure) -> Int {
        let response: Response<Data>
        do throws(NetworkError) {
            response = try await session.send(transfer.url, method: requestMethod, headers: fields, body: body)
        } catch {
            throw try transfer.failure(error, console)
        }
        var report = ResponseReport(url: response.url)
        report.add(response.head)
        report.add(response.metrics)
        report.add(body: response.value)
        try console.print(line: JSONText.line(report))
        return response.status
    }
}
#endif
