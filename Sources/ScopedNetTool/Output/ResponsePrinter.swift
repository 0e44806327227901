#if CommandLineTool
import FoundationEssentials
import HTTPTypes
import ScopedNet

/// Sends one request and puts its response where the arguments want it.
struct ResponsePrinter: Sendable {
    let transfer: TransferArguments
    let output: OutputArguments
    var method = HTTPRequest.Method.get
    let url: String
    var fields: HTTPFields = [:]
    let body: RequestBody?

    /// Returns when all is written.
    func execute() async throws(ToolFailure) {
        let path = try output.place(for: url)
        if let path { try FilePlace.checkReplaceable(path) }
        try await transfer.withSession(accepting: validation) { session, console throws(ToolFailure) in
            let status = transfer.json ? try await report(session, console) : try await copy(session, console, to: path)
            guard status >= 400 else { return }
            let advice = Advice.about(status: status).map { "\n  \($0)" } ?? ""
            throw ToolFailure(.httpError, "\(transfer.shownURL): the server answered \(status)\(advice)")
        }
    }

    /// What is to be tried again has to be an error first.
    private var validation: StatusValidation {
        if output.fail { return .success }
        return transfer.retry > 0 ? .codes(Set(100..<1_000).subtracting(RetryPolicy.defaultStatusCodes)) : .any
    }

    private func copy(_ session: Session, _ console: Console, to path: String?) async throws(ToolFailure) -> Int {
        // Before anything is sent: a place that cannot be written to is no reason to do the server's work.
        let place = try BodyOutput(console, path: path)
        let response: StreamedResponse
        do throws(NetworkError) {
            response = try await session.stream(url, method: method, headers: fields, body: body)
        } catch {
            if !output.fail, error.code == .unacceptableStatus, let head = error.response {
                try write(head, console)
                try place.write(error.body ?? Data())
                try place.finish()
                return head.status
            }
            throw try transfer.failure(error, console)
        }
        if Self.isJSON(response.head), output.pretty || path == nil && console.isOutputTerminal { place.layOut() }
        try write(response.head, console)
        var pieces = response.bytes.makeAsyncIterator()
        while let piece = try await next(&pieces, console) { try place.write(piece) }
        try place.finish()
        return response.head.status
    }

    private func write(_ head: ResponseHead, _ console: Console) throws(ToolFailure) {
        if output.include || method == .head { try console.print(HeadText.lines(head).utf8) }
    }

    private static func isJSON(_ head: ResponseHead) -> Bool {
        guard let text = head["content-type"], let type = MediaType(text) else { return false }
        return type.subtype == "json" || type.suffix == "json"
    }

    private func next(_ pieces: inout StreamedBytes.AsyncIterator, _ console: Console) async throws(ToolFailure) -> Data? {
        do throws(NetworkError) { return try await pieces.next() } catch { throw try transfer.failure(error, console) }
    }

    private func report(_ session: Session, _ console: Console) async throws(ToolFailure) -> Int {
        let response: Response<Data>
        do throws(NetworkError) { response = try await session.send(url, method: method, headers: fields, body: body) } catch {
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
