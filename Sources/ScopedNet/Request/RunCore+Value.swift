import FoundationEssentials

/// What is made of a response.
extension RunCore {
    /// The body goes to a reader while it arrives.
    var hasStream: Bool { stream != nil }

    func bodyDestination() -> BodyDestination {
        if let stream { return .stream(stream) }
        if let path = template.destination {
            let file = FileSink(destination: path)
            drive.file = file
            return .file(file)
        }
        return decoder.wantsBody ? .memory(limit: template.options.maxBodyBytes) : .memoryPrefix(limit: 0)
    }

    /// True when `process` costs nothing and may run on the network thread.
    func canProcessInline(_ result: TransferResult) -> Bool {
        decoder.isImmediate && drive.file == nil && template.destination == nil
            && (result.body.isEmpty || result.head?.contentEncoding == nil)
    }

    /// Makes the outcome of a complete, accepted response.
    func process(_ result: TransferResult) {
        do throws(NetworkError) { outcome = .success(try makeResponse(result)) } catch {
            var error = error
            error.response = result.head
            error.requestID = id
            error.attempt = exchange.attempt
            outcome = .failure(error)
        }
    }

    /// What was made of the response may be stored with it.
    func mayStoreValue(_ result: TransferResult) -> Bool {
        switch outcome {
        case .success(let response): template.options.shouldCache?(response.anyValue, response.parts.head) ?? true
        // Statuses that are not accepted are stored by the rules of HTTP alone; what could not be decoded is of no use.
        case .failure: false
        // No value was made, so the program's question about it has no answer.
        case nil where worksForOthers && template.options.shouldCache != nil: false
        // Nor was its type looked at, where the status is a success.
        case nil:
            result.head.map { !template.options.validation.accepts($0.status) || acceptsType($0, isEmpty: result.body.isEmpty) } ?? true
        }
    }

    /// Makes nothing of the body where nobody asks for the value, but is as particular about its type.
    var refreshDecoder: AnyDecoder { template.options.shouldCache == nil ? .data(accepting: decoder.types) : decoder }

    /// The value of a stored response, for the first of two deliveries; nil when nobody wants it or it cannot be made.
    func makeCached(_ result: TransferResult) -> AnyResponse? {
        guard interest.contains(.cached) else { return nil }
        do throws(NetworkError) { return try makeResponse(result) } catch { return nil }
    }

    private func makeResponse(_ result: TransferResult) throws(NetworkError) -> AnyResponse {
        guard let head = result.head else {
            throw NetworkError(.badResponse, phase: .receiving, message: "no response head")
        }
        try checkType(head, result.body)
        let body = try decodedBody(result.body, head)
        if template.destination != nil { try commitFile(head) }
        // For the error; a decoder that only hands the body on has none.
        let evidence = decoder.isImmediate ? nil : body
        let parts = ResponseParts(
            head: head, body: consume body, attempts: attempts, url: intent.url.description, source: drive.source,
            cacheStatus: drive.cacheStatus)
        do { return try decoder.decode(consume parts) } catch {
            var failure = NetworkError(.decodingFailed, phase: .decoding, message: "the body is not what was expected", underlying: error)
            failure.body = evidence?.prefix(template.errorBodyBytes)
            throw failure
        }
    }

    /// Before anything is decoded, and before a file is replaced.
    private func checkType(_ head: ResponseHead, _ body: Data) throws(NetworkError) {
        guard drive.isTypeRefused || !acceptsType(head, isEmpty: body.isEmpty && (drive.file?.count ?? 0) == 0) else { return }
        var error = NetworkError.unacceptableType(head)
        if let coding = head.contentEncoding {
            error.body = ContentCoding.decodedPrefix(body, coding: coding, limits: DecodingLimits(maxOutputBytes: template.errorBodyBytes))
        } else {
            error.body = body.prefix(template.errorBodyBytes)
        }
        drive.file?.discard()
        throw error
    }

    func acceptsType(_ head: ResponseHead, isEmpty: Bool) -> Bool {
        let types = template.options.contentTypes
        // Most requests have no wishes, and the field is not looked for.
        if decoder.types == nil, types.kind == .automatic { return true }
        return types.accepts(head["content-type"], status: head.status, isEmpty: isEmpty, expected: decoder.types)
    }

    private func decodedBody(_ body: Data, _ head: ResponseHead) throws(NetworkError) -> Data {
        guard !body.isEmpty, let coding = head.contentEncoding else { return body }
        var limits = template.options.decoding
        limits.maxOutputBytes = min(limits.maxOutputBytes ?? .max, template.options.maxBodyBytes)
        do throws(ContentDecodingError) { return try ContentCoding.decoded(body, coding: coding, limits: limits) } catch {
            throw NetworkError(error, requestID: id, attempt: exchange.attempt)
        }
    }

    private func commitFile(_ head: ResponseHead) throws(NetworkError) {
        guard let path = template.destination else { return }
        // An empty body never reached the sink.
        let file = drive.file ?? FileSink(destination: path)
        drive.file = nil
        try file.commit(coding: head.contentEncoding, limits: template.options.decoding)
        drive.isFileCommitted = true
    }

    func setFailure(_ error: NetworkError) { outcome = .failure(error) }
    /// The result once the run has ended; nil before and after a cancellation. Any thread.
    package var result: RunOutcome? { gateState.phase == .ended ? outcome : nil }
}
