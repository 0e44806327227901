import FoundationEssentials

/// An accepted head has come: the program may decide what becomes of its body, which waits for that.
extension HookedRun {
    private typealias Place = (to: BodyDestination, file: FileSink?)

    /// Bodies of this run may wait for an answer.
    var holdsBodies: Bool { hook { $0.disposition } != nil || template.destination != nil && hook { $0.destination } != nil }

    /// Network thread.
    ///
    /// - Returns: nil when nobody has to be asked.
    func askAboutResponse(_ transfer: TransferID, _ head: ResponseHead) -> BodyDestination? {
        guard let question = responseQuestion(head) else { return nil }
        let held = HeldResponse()
        receiving.held = held
        // Here, where the run is in hand.
        let usual = placeWithoutHooks(head)
        let call = HookCall { question.drop() }
        setWait(call, .answer, of: transfer.number)
        call.run { [weak self] in
            guard self?.mayGoOn == true else { return }
            guard let answer = await question.answer(), let self else { return }
            StepDoor.pass(.hookAnswered, id)
            take(answer, head, held, transfer, usual)
        }
        // A cancel that came before the call was known could not stop it.
        if !mayGoOn { cancelWait(.answer, of: transfer.number) }
        return .held(held.body)
    }

    private func responseQuestion(_ head: ResponseHead) -> HookQuestion<ResponseQuestion.Answer>? {
        let disposition = hook { $0.disposition }
        let destination = template.destination == nil ? nil : hook { $0.destination }
        // Through a cache comes what is of another type, too; that is an error, and no question.
        guard disposition != nil || destination != nil, acceptsType(head, isEmpty: head.contentLength == 0) else { return nil }
        let question = ResponseQuestion(
            arrival: arrival(head), disposition: disposition, destination: destination, path: downloadPlace(head)?.path, admit: admission)
        return HookQuestion { await question.answer() }
    }

    private func arrival(_ head: ResponseHead) -> RequestHooks.IncomingResponse {
        RequestHooks.IncomingResponse(
            runID: id, url: exchanges.sentURL.description, method: exchanges.method, head: head,
            canBecomeDownload: stream == nil && decoder.takesFile)
    }

    /// The place of an allowed body without hooks.
    private func placeWithoutHooks(_ head: ResponseHead) -> Place {
        guard stream == nil, let path = template.destination, let file = downloading.session?.wholeFile(path) else { return place(head) }
        return (.file(file), file)
    }

    /// On a thread of the concurrency runtime, while the transfer has the run: nothing of that may be touched here.
    private func take(
        _ answer: ResponseQuestion.Answer, _ head: ResponseHead, _ held: HeldResponse, _ transfer: TransferID, _ usual: Place
    ) {
        // Too late: another attempt may be on its way.
        guard held.isWanted else { return }
        switch answer {
        case .usual: allow(head, held, usual)
        case .file(let place):
            let file = FileSink(place)
            allow(head, held, (.file(file), file))
        case .fail(let error): refuse(hookError(error), held, transfer)
        case .cancel:
            _ = cancel(.explicit)
            // Others need the work, or a callback is running that had been admitted before.
            if mayGoOn { allow(head, held, usual) }
        }
    }

    private func refuse(_ error: NetworkError, _ held: HeldResponse, _ transfer: TransferID) {
        held.settle(.fail(error))
        session.transport.cancel(transfer)
    }

    private func allow(_ head: ResponseHead, _ held: HeldResponse, _ place: Place) {
        // Before the first byte, and so before its progress.
        feed?.pushHead(head, from: self, batch: .direct)
        if let file = place.file, template.destination == nil { feed?.push(observed: .becameDownload(path: file.destination), from: self) }
        beginReading(place.to.stream)
        held.settle(.place(place.to, file: place.file))
    }

    // MARK: The transfer's end

    /// The transfer is over; where its body went has to be known first.
    func awaitDisposition(_ input: inout StepInput) -> RunEvent? {
        guard let held = receiving.held, let result = input.result else { return .done }
        let number = exchangeID.number
        guard result.error == nil else {
            receiving.held = nil
            // Elsewhere: to cancel a task may call the program.
            input.batch.work { [self] in cancelWait(.answer, of: number) }
            return held.giveUp().map { adopt($0, &input) } ?? .done
        }
        let stage = RunStage.waiting(number)
        enter(stage)
        // The run's own total time, as the transfer no longer watches it.
        limitAsking(stage) { $0.expire($1) }
        let known = held.verdict { [weak self] verdict in
            self?.resume(stage) { run in
                run.receiving.held = nil
                let batch = DeliveryBatch()
                var input = StepInput(batch, result: result)
                run.receive(run.adopt(verdict, &input), input)
                batch.end()
            }
        }
        StepDoor.pass(.retryWaiting, id)
        guard let known else {
            abandonWait(stage)
            return nil
        }
        guard takeWait(stage) else { return nil }
        guard mayGoOn else {
            abandonWork()
            return nil
        }
        receiving.held = nil
        return adopt(known, &input)
    }

    private func adopt(_ verdict: HeldResponse.Verdict, _ input: inout StepInput) -> RunEvent {
        guard let result = input.result else { return .failed }
        switch verdict {
        case .fail(let error):
            input.result = TransferResult(head: result.head, metrics: result.metrics)
            return failed(error, &input)
        case .place(let place, let file):
            downloading.file = file
            // A body without bytes never got there.
            if let stream = place.stream, result.error == nil { stream.finish(nil) }
            return .done
        }
    }

    /// The body is not wanted any more.
    func abandon(_ held: HeldResponse) {
        receiving.held = nil
        if case .place(_, let file?)? = held.giveUp() { file.discard() }
    }

    // MARK: Files

    /// The place of a download without hooks: in a folder by the name the response has.
    func downloadPlace(_ head: ResponseHead) -> DownloadPlace? {
        template.destination.map { DownloadPlace($0, head: head, url: exchanges.url.string) }
    }

    private func fileQuestion(_ head: ResponseHead, _ path: String) -> HookQuestion<ResponseQuestion.Answer>? {
        guard let hook = hook({ $0.destination }) else { return nil }
        let (arrival, admit) = (arrival(head), admission)
        return HookQuestion { await ResponseQuestion.ask(hook, arrival, path, admit) }
    }

    /// Of a stored response.
    ///
    /// - Returns: false when nobody has to be asked.
    func askForFile(_ head: ResponseHead, next: @escaping @Sendable (Self, DownloadPlace) -> Void) -> Bool {
        guard let place = downloadPlace(head), let question = fileQuestion(head, place.path) else { return false }
        ask(question) { (run: Self, answer: ResponseQuestion.Answer) in
            switch answer {
            case .usual, .cancel: next(run, place)
            case .file(let other): next(run, other)
            case .fail(let error): run.fail(run.hookError(error))
            }
        }
        return true
    }
}
