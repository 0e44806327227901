import FoundationEssentials

/// The outcome of a run: the value of a response, or the error.
extension JudgedRun {
    // MARK: The steps

    /// The file gets its place first: that may take as long as the disk likes, and the run no longer than its total time.
    func placeFile(_ input: inout StepInput) -> RunEvent? {
        guard let file = input.file, let result = input.result else { return .failed }
        waitForDisk { [self] () -> Result<Void, NetworkError>? in
            StepDoor.pass(.beforeDecode, id)
            guard mayGoOn else { return nil }
            // A response that the program refuses replaces nothing.
            if let head = result.head, let refusal = programsRefusal(head, Data()) {
                file.file.reject()
                return .failure(refusal)
            }
            return file.run { mayGoOn }
        } next: { run, done in
            guard let done else { return run.failForDisk(result) }
            run.downloading.commitOutcome = done
            run.receive(.done, StepInput(result: result))
        }
        return nil
    }

    func makeValue(_ input: inout StepInput) -> RunEvent? {
        guard let result = input.takeResult() else { return .failed }
        let asksTheProgram = caching.transaction != nil && template.options.hooks.shouldCache != nil
        let readsStored = caching.transaction?.readsStoredBodies == true
        guard !canProcessInline(result) || asksTheProgram || readsStored else {
            // No decoder is called for a value that nobody gets.
            if !worksForOthers { process(result) }
            storeInCache(result)
            return .done
        }
        enter(.working)
        let job: WorkPool.Job = { [self] in makeValueHere(result) }
        // A file gets its name there, and stored pieces are read.
        if isFile || readsStored { block(input.batch, job) } else { input.batch.work(job) }
        return nil
    }

    private func makeValueHere(_ result: TransferResult) {
        defer { StepDoor.pass(.workEnded, id) }
        // A file had its step before it got its place.
        if downloading.commitOutcome == nil { StepDoor.pass(.beforeDecode, id) }
        guard mayGoOn else { return abandonWork() }
        if !worksForOthers { process(result) }
        var input = StepInput()
        input.copy = makeCacheCopy(result)
        storeInCache(result)
        concludeDownload()
        receive(.decoded, input)
    }

    func fail(_ input: inout StepInput) -> RunEvent? {
        endLeading()
        let isOffered = offerError(&input) { run, input in run.end(&input) }
        return isOffered ? nil : end(&input)
    }

    private func end(_ input: inout StepInput) -> RunEvent? {
        let result = input.result
        var failure = input.error ?? error(.badResponse, .receiving, "no response")
        failure.response = result?.head ?? failure.response
        guard let ending = downloading.session?.ending else { return complete(failure, result, &input) }
        // File and target are free before anybody hears of the end, unless the disk hangs.
        waitForDisk(atMost: patienceWithDisk, ending) { [failure] run, kept in
            var (failure, input) = (failure, StepInput())
            if let kept = kept ?? nil { failure.resumableBytes = kept }
            if let event = run.complete(failure, result, &input) { run.receive(event, input) }
        }
        return nil
    }

    /// An error document may be compressed too; undoing that is work.
    private func complete(_ failure: NetworkError, _ result: TransferResult?, _ input: inout StepInput) -> RunEvent? {
        var failure = failure
        guard let result, !result.body.isEmpty, let coding = result.head?.appliedCoding else {
            if let result, !result.body.isEmpty { failure.body = result.body.prefix(template.errorBodyBytes) }
            setFailure(failure)
            return .done
        }
        let limits = DecodingLimits(maxOutputBytes: template.errorBodyBytes)
        enter(.working)
        input.batch.work { [self, failure] in
            guard mayGoOn else { return abandonWork() }
            var failure = failure
            failure.body = ContentCoding.decodedPrefix(result.body, coding: coding, limits: limits)
            setFailure(failure)
            receive(.done)
        }
        return nil
    }

    /// The outcome is there; the callback executor decides whether it is still wanted.
    func deliver(_ input: inout StepInput) -> RunEvent? {
        enter(.idle)
        if interception != nil { endInterception() }
        StepDoor.pass(.beforeDelivery, id)
        if let feed { feed.push(.ending, from: self, batch: input.batch) } else { input.batch.deliver(.run(self, .ending), on: lane) }
        return nil
    }

    // MARK: What is made of a response

    var assembler: ResponseAssembler { ResponseAssembler(template: template, decoder: decoder) }

    func bodyDestination(_ head: ResponseHead) -> BodyDestination {
        if stream == nil, let path = template.destination, downloading.session?.keepsPart == true { return wholeFile(path) }
        let place = place(head)
        if let file = place.file { downloading.file = file }
        return place.to
    }

    /// The place of a body. Nothing is opened yet.
    func place(_ head: ResponseHead) -> (to: BodyDestination, file: FileSink?) {
        if let stream { return (.stream(stream), nil) }
        if let place = downloadPlace(head) {
            let file = FileSink(place)
            return (.file(file), file)
        }
        // Interceptors get it also where the value is made without.
        let limit = decoder.wantsBody || interception != nil ? template.options.limits.bodyBytes : nil
        if let limit, let body = shareBody(head) { return (.collected(body, limit: limit), nil) }
        if let stream = prepareReading(head) { return (.observed(stream, limit: limit), nil) }
        return (limit.map { .memory(limit: $0) } ?? .memoryPrefix(limit: 0, isWanted: true), nil)
    }

    /// The body goes to a file, or went there.
    var isFile: Bool { template.destination != nil || downloading.file != nil }

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

    /// True where the response, and the value that was made of it, may be stored.
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
        receiving.decodedBytes = file.map { Int(clamping: $0.count) } ?? (result.body.isEmpty ? nil : body.count)
        let parts = ResponseParts(
            head: head, body: consume body, attempts: attempts, attemptNumber: attemptNumber, url: exchanges.sentURL.description,
            source: receiving.source,
            cacheStatus: caching.status, file: file, duration: elapsed)
        return try assembler.assemble(consume parts, isChecked: file != nil || stream != nil) { mayGoOn }
    }

    /// The error of the program's own check; nil for a response that it takes.
    func programsRefusal(_ head: ResponseHead, _ body: Data) -> NetworkError? {
        assembler.programsRefusal(head, body) { mayGoOn }
    }

    func isTypeUnwanted(_ head: ResponseHead, isEmpty: Bool) -> Bool {
        receiving.isTypeRefused || !acceptsType(head, isEmpty: isEmpty && (downloading.file?.count ?? 0) == 0)
    }

    func acceptsType(_ head: ResponseHead, isEmpty: Bool) -> Bool { assembler.acceptsType(head, isEmpty: isEmpty) }

    /// The file of a complete response of the type that is wanted, to be put in its place; nil where there is none.
    func fileToCommit(_ result: TransferResult) -> FileCommit? {
        guard isFile, !worksForOthers, let head = result.head,
            // An empty body never reached the sink.
            let file = downloading.file ?? downloadPlace(head).map({ FileSink($0) })
        else { return nil }
        downloading.file = file
        return FileCommit(
            file: file, claim: downloading.session?.claim, late: result.body, coding: head.appliedCoding,
            limits: template.options.limits.decoding,
            synchronizes: template.options.downloads.synchronizes)
    }

    private func commitFile(_ head: ResponseHead) throws(NetworkError) -> FileSink? {
        guard let file = downloading.file, let outcome = downloading.commitOutcome else { return nil }
        downloading.file = nil
        downloading.commitOutcome = nil
        try outcome.get()
        downloading.committed = file
        feed?.push(observed: .fileWritten(path: file.destination, bytes: file.count), from: self)
        return file
    }

    func setFailure(_ error: NetworkError) {
        let configuration = session.configuration
        outcome = .failure(error.decoding(by: configuration.json, configuration.errorDocument).asked(exchanges.method, exchanges.sentURL))
    }
}
