import SystemSupport

extension Request {
    /// The progress of a run: each iteration starts one, as ``value(in:fileID:line:)`` does.
    ///
    /// ```swift
    /// let download = session.download("image.iso", to: file)
    /// for try await progress in download.progress { bar = progress.fraction ?? 0 }
    /// print(try download.result?.get().value)
    /// ```
    ///
    /// A slow reader misses what is between, never the newest: one element waits. The complete count comes before the end. The sequence ends with the
    /// run, and throws its error; the response is then in ``result``. Cancelling the task, and leaving the loop, cancel the run, and so does the end
    /// of the bag whose task this is. Do not start the request besides: that is another run.
    public var progress: ProgressSequence { ProgressSequence(request: self, bag: nil, origin: origin) }

    /// The progress of a run that ends with `bag`; see ``progress``.
    public func progress(in bag: DeallocBag, fileID: StaticString = #fileID, line: Int = #line) -> ProgressSequence {
        ProgressSequence(request: self, bag: bag.storage, origin: CodeOrigin(fileID, line))
    }

    /// The events of a run: each iteration starts one, as ``value(in:fileID:line:)`` does.
    ///
    /// ```swift
    /// for await event in request.events {
    ///     if case .retryDecided(let reason, after: let wait?) = event.kind { status = "\(reason), once more in \(wait)" }
    /// }
    /// let story = try request.result?.get().value
    /// ```
    ///
    /// They are those of a ``RequestObserver``, of this run alone. Progress that nobody has read yet is replaced by newer; beyond 256 events that wait,
    /// the oldest are lost. The last one is `finished` or `cancelled`; the sequence is empty where the start is refused
    /// (``RepeatStrategy/keepRunning``). Cancelling the task, and leaving the loop, cancel the run, and so does the end of the bag whose task this
    /// is.
    public var events: EventSequence { EventSequence(request: self, bag: nil, origin: origin) }

    /// The events of a run that ends with `bag`; see ``events``.
    public func events(in bag: DeallocBag, fileID: StaticString = #fileID, line: Int = #line) -> EventSequence {
        EventSequence(request: self, bag: bag.storage, origin: CodeOrigin(fileID, line))
    }

    private func start<Element>(
        _ channel: RunChannel<Element>, _ canceller: TaskCanceller, _ bag: BagStorage?, _ origin: CodeOrigin,
        handlers: consuming RunHandlers
    ) {
        handlers.resolve = { outcome in
            if case .failure(let error) = outcome { channel.finish(error) } else { channel.finish(nil) }
        }
        let run = start(in: bag ?? TaskScope.bag, origin: origin, handlers: consume handlers, canceller: canceller)
        if run.wasRefused { channel.finish(run.refusal) }
    }
}

extension Request {
    /// See ``Request/progress``.
    public struct ProgressSequence: AsyncSequence, Sendable {
        /// A change of progress.
        public typealias Element = Run.Progress
        /// The error of the run.
        public typealias Failure = NetworkError

        let request: Request
        // The bag itself may go at any time.
        let bag: BagStorage?
        let origin: CodeOrigin

        /// One loop: it starts a run at the first element, and cancels it when it is left early.
        public struct AsyncIterator: AsyncIteratorProtocol {
            let reading: RunReading<Run.Progress>

            /// The next element; nil when the run is over.
            public mutating func next() async throws(NetworkError) -> Run.Progress? { try await reading.next() }

            /// The next element, on the caller's actor; nil when the run is over.
            public mutating func next(isolation actor: isolated (any Actor)?) async throws(NetworkError) -> Run.Progress? {
                try await reading.next()
            }
        }

        /// Makes a loop, which starts a run of its own.
        public func makeAsyncIterator() -> AsyncIterator {
            AsyncIterator(
                reading: RunReading(limit: 1) { [request, bag, origin] channel, canceller in
                    let timing = request.session.timing
                    let meters = Lock((sending: ProgressMeter(), receiving: ProgressMeter()))
                    var handlers = RunHandlers()
                    handlers.sent = .one(
                        CallbackHandler(lane: nil, origin: origin) { counts in
                            let now = timing.now()
                            channel.send(meters.withLock { $0.sending.progress(.sending, counts, now: now) })
                        })
                    handlers.received = .one(
                        CallbackHandler(lane: nil, origin: origin) { counts in
                            let now = timing.now()
                            channel.send(meters.withLock { $0.receiving.progress(.receiving, counts, now: now) })
                        })
                    request.start(channel, canceller, bag, origin, handlers: handlers)
                })
        }
    }

    /// See ``Request/events``.
    public struct EventSequence: AsyncSequence, Sendable {
        /// An event of the run.
        public typealias Element = RequestEvent
        /// Events end with the run, whatever its error: the last one has it.
        public typealias Failure = Never

        let request: Request
        // The bag itself may go at any time.
        let bag: BagStorage?
        let origin: CodeOrigin

        /// One loop: it starts a run at the first element, and cancels it when it is left early.
        public struct AsyncIterator: AsyncIteratorProtocol {
            let reading: RunReading<RequestEvent>

            /// The next element; nil when the run is over.
            public mutating func next() async -> RequestEvent? { await reading.nextOrEnd() }

            /// The next element, on the caller's actor; nil when the run is over.
            public mutating func next(isolation actor: isolated (any Actor)?) async -> RequestEvent? { await reading.nextOrEnd() }
        }

        /// Makes a loop, which starts a run of its own.
        public func makeAsyncIterator() -> AsyncIterator {
            AsyncIterator(
                reading: RunReading(limit: 256) { [request, bag, origin] channel, canceller in
                    var handlers = RunHandlers()
                    handlers.observer = ChannelObserver(channel: channel)
                    request.start(channel, canceller, bag, origin, handlers: handlers)
                })
        }
    }
}

extension RunReading {
    /// The errors of runs are in their last event.
    fileprivate func nextOrEnd() async -> Element? {
        do throws(NetworkError) { return try await next() } catch { return nil }
    }
}

private struct ChannelObserver: RequestObserver {
    let channel: RunChannel<RequestEvent>

    func observe(_ event: RequestEvent) {
        channel.send(event) { waiting in
            switch (waiting.kind, event.kind) {
            case (.sent, .sent), (.received, .received): true
            default: false
            }
        }
    }
}
