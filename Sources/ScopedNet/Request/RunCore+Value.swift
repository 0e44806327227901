import FoundationEssentials

/// What is made of a response.
extension RunCore {
    /// The body goes to a reader while it arrives.
    var hasStream: Bool { stream != nil }

    func bodyDestination(_ head: ResponseHead) -> BodyDestination {
        if stream == nil, let path = template.destination, drive.download?.keepsPart == true { return wholeFile(path) }
        let place = place(head)
        if let file = place.file { drive.file = file }
        return place.to
    }

    /// Where the body goes. Whoever has the run; nothing is opened yet.
    func place(_ head: ResponseHead) -> (to: BodyDestination, file: FileSink?) {
        if let stream { return (.stream(stream), nil) }
        if let place = downloadPlace(head) {
            let file = FileSink(place)
            return (.file(file), file)
        }
        return (decoder.wantsBody ? .memory(limit: template.options.limits.bodyBytes) : .memoryPrefix(limit: 0, isWanted: true), nil)
    }

    /// The body goes to a file, or went there.
    var isFile: Bool { template.destination != nil || drive.file != nil }

    /// True when `process` costs nothing and may run on the network thread.
    func canProcessInline(_ result: TransferResult) -> Bool {
        decoder.isImmediate && !isFile && template.options.validation.check == nil
            && (result.body.isEmpty || result.head?.appliedCoding == nil)
    }

    /// Makes the outcome of a complete, accepted response.
    func process(_ result: TransferResult) {
        note(.decoding)
        defer { note(.decoded) }
        do throws(NetworkError) { outcome = .success(try makeResponse(result)) } catch {
            var error = error
            error.response = result.head
            error.runID = id
            error.attempt = exchange.attempt
            setFailure(error)
        }
    }

    /// What was made of the response may be stored with it.
    func mayStoreValue(_ result: TransferResult) -> Bool {
        switch outcome {
        case .success(let response):
            // A cancel that came while the value was made: nothing more is asked.
            template.options.hooks.shouldCache.map { mayGoOn && $0(response.anyValue, response.parts.head) } ?? true
        // Statuses that are not accepted are stored by the rules of HTTP alone; what could not be decoded is of no use.
        case .failure: false
        // No value was made, so the program's question about it has no answer.
        case nil where worksForOthers && template.options.hooks.shouldCache != nil: false
        // Nor was its type looked at, where the status is a success.
        case nil:
            result.head.map { !template.options.validation.accepts($0.status) || acceptsType($0, isEmpty: result.body.isEmpty) } ?? true
        }
    }

    /// Makes nothing of the body where nobody asks for the value, but is as particular about its type.
    var refreshDecoder: AnyDecoder { template.options.hooks.shouldCache == nil ? .data(accepting: decoder.types) : decoder }

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
        let file = isFile ? try commitFile(head) : nil
        let body = file == nil ? try decodedBody(result.body, head) : Data()
        drive.decodedBytes = file.map { Int(clamping: $0.count) } ?? (result.body.isEmpty ? nil : body.count)
        // For the error; a decoder that only hands the body on has none.
        let evidence = decoder.isImmediate ? nil : body
        // A file was checked before it got its place, and of a stream there is nothing yet.
        if file == nil, stream == nil, let refusal = programsRefusal(head, body) { throw refusal }
        let parts = ResponseParts(
            head: head, body: consume body, attempts: attempts, url: intent.url.description, source: drive.source,
            cacheStatus: drive.cacheStatus, file: file, duration: elapsed)
        do { return try decoder.decode(consume parts) } catch {
            var failure = NetworkError(
                .decodingFailed, phase: .decoding, message: DecodingFailure.message(for: error, body: evidence), underlying: error)
            failure.body = evidence?.prefix(template.errorBodyBytes)
            failure.bodyBytes = evidence?.count
            throw failure
        }
    }

    /// Before anything is decoded, and before a file is replaced.
    private func checkType(_ head: ResponseHead, _ body: Data) throws(NetworkError) {
        guard isTypeUnwanted(head, body) else { return }
        var error = NetworkError.unacceptableType(head)
        if let coding = head.appliedCoding {
            error.body = ContentCoding.decodedPrefix(body, coding: coding, limits: DecodingLimits(maxOutputBytes: template.errorBodyBytes))
        } else {
            error.body = body.prefix(template.errorBodyBytes)
            error.bodyBytes = body.count
        }
        drive.file?.discard()
        throw error
    }

    /// The error of the program's own check; nil for a response that it takes.
    func programsRefusal(_ head: ResponseHead, _ body: Data) -> NetworkError? {
        // A cancel that came while the body was decoded: nothing more is asked.
        guard let check = template.options.validation.check, mayGoOn else { return nil }
        do {
            try check(head, body)
            return nil
        } catch {
            var failure =
                error as? NetworkError
                ?? NetworkError(.unacceptableResponse, phase: .decoding, message: "the program's check: \(error)", underlying: error)
            failure.body = failure.body ?? body.prefix(template.errorBodyBytes)
            return failure
        }
    }

    private func isTypeUnwanted(_ head: ResponseHead, _ body: Data) -> Bool {
        // In its place, the file was of the right type.
        guard drive.commitOutcome == nil else { return false }
        return drive.isTypeRefused || !acceptsType(head, isEmpty: body.isEmpty && (drive.file?.count ?? 0) == 0)
    }

    func acceptsType(_ head: ResponseHead, isEmpty: Bool) -> Bool {
        let types = template.options.validation.contentTypes
        // Most requests have no wishes, and the field is not looked for.
        if decoder.types == nil, types.kind == .automatic { return true }
        return types.accepts(head["content-type"], status: head.status, isEmpty: isEmpty, expected: decoder.types)
    }

    private func decodedBody(_ body: Data, _ head: ResponseHead) throws(NetworkError) -> Data {
        guard !body.isEmpty, let coding = head.appliedCoding else { return body }
        var limits = template.options.limits.decoding
        limits.maxOutputBytes = min(limits.maxOutputBytes ?? .max, template.options.limits.bodyBytes)
        do throws(ContentDecodingError) { return try ContentCoding.decoded(body, coding: coding, limits: limits) } catch {
            throw NetworkError(error, runID: id, attempt: exchange.attempt)
        }
    }

    /// The file of a complete response of the type that is wanted, to be put in its place; nil where there is none.
    func fileToCommit(_ result: TransferResult) -> FileCommit? {
        guard isFile, !worksForOthers, let head = result.head, !isTypeUnwanted(head, result.body),
            // An empty body never reached the sink.
            let file = drive.file ?? downloadPlace(head).map({ FileSink($0) })
        else { return nil }
        drive.file = file
        return FileCommit(
            file: file, claim: drive.download?.claim, late: result.body, coding: head.appliedCoding,
            limits: template.options.limits.decoding,
            synchronizes: template.options.downloads.synchronizes)
    }

    private func commitFile(_ head: ResponseHead) throws(NetworkError) -> FileSink? {
        guard let file = drive.file, let outcome = drive.commitOutcome else { return nil }
        drive.file = nil
        drive.commitOutcome = nil
        try outcome.get()
        drive.committed = file
        feed?.push(observed: .fileWritten(path: file.destination, bytes: file.count), from: self)
        return file
    }

    func setFailure(_ error: NetworkError) {
        let configuration = session.configuration
        outcome = .failure(error.decoding(by: configuration.json, configuration.errorDocument).asked(intent.method, intent.url))
    }

    /// The result once the run has ended; nil before and after a cancellation. Any thread.
    package var result: RunOutcome? { gateState.phase == .ended ? outcome : nil }
}
