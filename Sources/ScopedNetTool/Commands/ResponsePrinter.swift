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
        try await transfer.withSession(accepting: validation, sending: fields) { session, console, attempts throws(ToolFailure) in
            let head = transfer.json ? try await report(session, console, attempts) : try await copy(session, console, to: path)
            guard head.status >= 400 else { return }
            let advice = Advice.about(head, proof).map { "\n  \($0)" } ?? ""
            throw ToolFailure(.httpError, "\(transfer.shownURL): the server answered \(head.status)\(advice)")
        }
    }

    private var proof: Advice.Proof { transfer.proof(sending: fields) }

    /// What is to be tried again has to be an error first.
    private var validation: StatusValidation {
        if output.fail { return .success }
        return transfer.retry > 0 ? .codes(Set(100..<1_000).subtracting(RetryPolicy.defaultStatusCodes)) : .any
    }

    private func copy(_ session: Session, _ console: Console, to path: String?) async throws(ToolFailure) -> ResponseHead {
        // Before anything is sent: a place that cannot be written to is no reason to do the server's work.
        let place = try BodyOutput(console, path: path)
        let response: StreamedResponse
        do throws(NetworkError) {
            response = try await session.stream(url, method: method, headers: HeaderFields(fields), body: body)
        } catch {
            if !output.fail, error.code == .unacceptableStatus, let head = error.response {
                try write(head, console)
                try place.write(error.body ?? Data())
                try place.finish()
                return head
            }
            throw try transfer.failure(error, console, proof)
        }
        if Self.isJSON(response.head), output.pretty || path == nil && console.isOutputTerminal { place.layOut() }
        try write(response.head, console)
        var pieces = response.bytes.makeAsyncIterator()
        while let piece = try await next(&pieces, console) { try place.write(piece) }
        try place.finish()
        return response.head
    }

    private func write(_ head: ResponseHead, _ console: Console) throws(ToolFailure) {
        if output.include || method == .head { try console.print(HeadText.lines(head).utf8) }
    }

    private static func isJSON(_ head: ResponseHead) -> Bool {
        guard let text = head["content-type"], let type = MediaType(text) else { return false }
        return type.subtype == "json" || type.suffix == "json"
    }

    private func next(_ pieces: inout StreamedResponse.Bytes.AsyncIterator, _ console: Console) async throws(ToolFailure) -> Data? {
        do throws(NetworkError) { return try await pieces.next() } catch { throw try transfer.failure(error, console, proof) }
    }

    // MARK: JSON

    private func report(_ session: Session, _ console: Console, _ attempts: TimingObserver) async throws(ToolFailure) -> ResponseHead {
        let response: Response<Data>
        do throws(NetworkError) { response = try await session.send(url, method: method, headers: HeaderFields(fields), body: body) } catch
        {
            return try printRefusal(error, console, attempts)
        }
        var report = ResponseReport(url: response.url)
        report.add(response.head)
        report.add(response.metrics)
        report.add(body: response.value)
        if response.status >= 400 { report.add(Self.refusal(response.head, attempt: attempts.attempt), proof) }
        try console.print(line: JSONText.line(report))
        return response.head
    }

    /// A status that would have been tried again is an error to the library; here it is printed like any other, body and all.
    private func printRefusal(
        _ error: NetworkError, _ console: Console, _ attempts: TimingObserver
    ) throws(ToolFailure) -> ResponseHead {
        guard !output.fail, error.code == .unacceptableStatus, let head = error.response else {
            throw try transfer.failure(error, console, proof)
        }
        var report = ResponseReport(url: transfer.shownURL, error: error, proof)
        if let metrics = attempts.metrics { report.add(metrics) }
        report.add(body: error.body ?? Data())
        try console.print(line: JSONText.line(report))
        return head
    }

    /// What the library would have made of it with `--fail`, so that both read the same.
    private static func refusal(_ head: ResponseHead, attempt: Int) -> NetworkError {
        let reason = head.reasonPhrase.isEmpty ? "" : " \(head.reasonPhrase)"
        var error = NetworkError(
            .unacceptableStatus, phase: .receiving, message: "the server answered \(head.status)\(reason)", attempt: attempt)
        error.response = head
        return error
    }
}
#endif
