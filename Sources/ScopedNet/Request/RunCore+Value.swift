import FoundationEssentials

/// What is made of a response.
extension RunCore {
    var assembler: ResponseAssembler { ResponseAssembler(template: template, decoder: decoder) }

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
        !isFile && assembler.isImmediate(result.head, result.body)
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
        guard interest.contains(.cached), let head = result.head, acceptsType(head, isEmpty: result.body.isEmpty) else { return nil }
        do throws(NetworkError) { return try makeResponse(result) } catch { return nil }
    }

    private func makeResponse(_ result: TransferResult) throws(NetworkError) -> AnyResponse {
        guard let head = result.head else {
            throw NetworkError(.badResponse, phase: .receiving, message: "no response head")
        }
        let assembler = assembler
        let file = isFile ? try commitFile(head) : nil
        let body = file == nil ? try assembler.decodedBody(result.body, head) : Data()
        drive.decodedBytes = file.map { Int(clamping: $0.count) } ?? (result.body.isEmpty ? nil : body.count)
        let parts = ResponseParts(
            head: head, body: consume body, attempts: attempts, url: exchanges.url.description, source: drive.source,
            cacheStatus: drive.cacheStatus, file: file, duration: elapsed)
        return try assembler.assemble(consume parts, isChecked: file != nil || stream != nil) { mayGoOn }
    }

    /// The error of the program's own check; nil for a response that it takes.
    func programsRefusal(_ head: ResponseHead, _ body: Data) -> NetworkError? {
        assembler.programsRefusal(head, body) { mayGoOn }
    }

    func isTypeUnwanted(_ head: ResponseHead, _ body: Data) -> Bool {
        drive.isTypeRefused || !acceptsType(head, isEmpty: body.isEmpty && (drive.file?.count ?? 0) == 0)
    }

    func acceptsType(_ head: ResponseHead, isEmpty: Bool) -> Bool { assembler.acceptsType(head, isEmpty: isEmpty) }

    /// The file of a complete response of the type that is wanted, to be put in its place; nil where there is none.
    func fileToCommit(_ result: TransferResult) -> FileCommit? {
        guard isFile, !worksForOthers, let head = result.head,
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
        outcome = .failure(error.decoding(by: configuration.json, configuration.errorDocument).asked(exchanges.method, exchanges.url))
    }

    /// The result once the run has ended; nil before and after a cancellation. Any thread.
    package var result: RunOutcome? { lifecycle.phase == .ended ? outcome : nil }
}
