import CleanSlate
import Foundation
import HTTPTypes
import ScopedNet
import ScopedNetTesting
import Testing

@Suite(.leavesNothing) struct MockTransportTests {
    @Test func queueRoutesAndClosureAnswerInThatOrder() async throws {
        let transport = MockTransport { $0.path == "/asked" ? .ok("closure") : nil }
        transport.on("/route", .ok("route"))
        transport.on("http://h/whole?x=1", .ok("whole"))
        transport.enqueue(.ok("queued"))
        let session = mockedSession(transport)
        var bodies: [String] = []
        for url in ["route", "route?q=2", "whole?x=1", "asked"] {
            bodies.append(String(decoding: try await session.request("http://h/" + url).value(), as: UTF8.self))
        }
        #expect(bodies == ["queued", "route", "whole", "closure"])
        #expect(transport.exchanges.map(\.path) == ["/route", "/route", "/whole", "/asked"])
    }

    @Test func whatWasAskedIsKept() async throws {
        let transport = MockTransport { _ in .status(201) }
        let session = mockedSession(transport)
        _ = try await session.send("http://h/x", method: .post, headers: [.contentType: "text/plain"], body: .data(Data("hello".utf8)))
        let exchange = await transport.exchange(0)
        #expect(exchange.method == .post)
        #expect(exchange.headers[.contentType] == "text/plain")
        #expect(exchange.body == Data("hello".utf8))
        #expect(exchange.isEnded)
    }

    @Test func anExchangeIsTakenStepByStep() async throws {
        let transport = MockTransport(unanswered: .wait)
        let session = mockedSession(transport)
        let said = Log()
        session.request("http://h/").onResponseHead { said.add("head \($0.status)") }
            .onDownloadProgress { said.add("progress \($0.completed)") }.onFailure { said.add("\($0.code)") }.start()
        let exchange = await transport.exchange(0)
        exchange.receiveHead(headers: [.contentLength: "10"])
        exchange.receive("half ")
        exchange.fail(.connectionLost)
        exchange.finish()
        await session.agent.waitUntilIdle()
        #expect(said.lines == ["head 200", "progress 5", "connectionLost"])
    }

    @Test func failuresAreScripted() async {
        let transport = MockTransport(unanswered: .wait)
        transport.on("/refused", .failing(.connectionRefused))
        transport.on("/cut", .ok("part").thenFailing(.truncatedBody))
        let session = mockedSession(transport)
        for (path, code) in [("refused", NetworkError.Code.connectionRefused), ("cut", .truncatedBody)] {
            let result = await value(session, path)
            #expect(result == code)
        }
    }

    private func value(_ session: Session, _ path: String) async -> NetworkError.Code? {
        do throws(NetworkError) { _ = try await session.request("http://h/" + path).value() } catch { return error.code }
        return nil
    }

    @Test func bodiesComeInPiecesToReadersAndFiles() async throws {
        let transport = MockTransport { _ in .ok(String(repeating: "x", count: 100_000)).inPieces(of: 1000) }
        let session = mockedSession(transport)
        var count = 0
        for try await piece in try await session.stream("http://h/", window: 4096).bytes { count += piece.count }
        #expect(count == 100_000)
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("mock-\(UUID())")
        defer { try? FileManager.default.removeItem(at: file) }
        _ = try await session.download("http://h/", to: file).value()
        #expect(try Data(contentsOf: file).count == 100_000)
    }

    @Test func aReaderThatLeavesCancels() async throws {
        let transport = MockTransport(unanswered: .wait)
        let session = mockedSession(transport)
        let reading = Task { () throws in
            for try await _ in try await session.stream("http://h/").bytes { break }
        }
        let exchange = await transport.exchange(0)
        exchange.receiveHead()
        exchange.receive("x")
        try await reading.value
        await session.agent.waitUntilIdle()
        #expect(exchange.isEnded)
    }

    @Test func aCancelledTransferCanBeHeldByTheTest() async {
        let transport = MockTransport(unanswered: .wait, endsCancelled: false)
        let session = mockedSession(transport)
        let run = session.request("http://h/").start()
        run.cancel()
        #expect(transport.exchanges[0].isCancelled)
        #expect(!transport.exchanges[0].isEnded)
        transport.exchanges[0].fail(.cancelled)
        await session.agent.waitUntilIdle()
    }

    @Test func afterAShutdownNothingIsAnswered() async {
        let transport = MockTransport { _ in .ok() }
        let session = mockedSession(transport)
        await session.shutdown()
        let code = await value(session, "x")
        #expect(code == .shutdown)
    }
}

@Suite(.leavesNothing) struct ManualClockTests {
    @Test func aRetryWaitsForTheClock() async throws {
        let clock = ManualClock()
        let transport = MockTransport(unanswered: .wait)
        transport.enqueue(.status(503))
        transport.enqueue(.ok("second"))
        let session = mockedSession(transport) { configuration in
            configuration.use(clock)
            configuration.options.retry = .standard
        }
        let value = Task { try await session.request("http://h/").value() }
        await clock.waitForTimers(1)
        let wait = try #require(clock.nextWait)
        #expect(wait > .zero)
        clock.advance(by: wait - .nanoseconds(1))
        #expect(transport.exchanges.count == 1)
        clock.advance(by: .nanoseconds(1))
        let body = try await value.value
        #expect(body == Data("second".utf8))
        #expect(clock.armedCount == 0)
        #expect(!clock.fireNext())
    }
}

@Suite(.leavesNothing) struct ManualExecutorTests {
    @Test func aResultThatWaitsToBeDeliveredLosesToACancel() async {
        let executor = ManualExecutor()
        let session = mockedSession(MockTransport { _ in .ok() }) { $0.use(executor) }
        let said = Log()
        let run = session.request("http://h/").onSuccess { _ in said.add("success") }.onEnd { _ in said.add("end") }.start()
        await executor.waitForWork()
        #expect(run.cancel() == .cancelled)
        executor.runAll()
        #expect(said.lines == ["end"])
        #expect(session.agent.liveCount == 0)
    }

    @Test func aResultIsDeliveredWhenTheTestSaysSo() async {
        let executor = ManualExecutor()
        let session = mockedSession(MockTransport { _ in .ok() }) { $0.use(executor) }
        let said = Log()
        session.request("http://h/").onSuccess { _ in said.add("success") }.start()
        await executor.waitForWork()
        #expect(said.lines.isEmpty)
        #expect(executor.pendingCount == 1)
        executor.runAll()
        #expect(said.lines == ["success"])
        #expect(!executor.runNext())
    }

    private actor Model {
        let executor: ManualExecutor
        var text = ""
        nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
        init(_ executor: ManualExecutor) { self.executor = executor }
        func load(_ session: Session) { session.request("http://h/").onSuccess(for: self) { model, _ in model.text = "loaded" }.start() }
    }

    @Test func itIsTheExecutorOfAnActorToo() async {
        let executor = ManualExecutor()
        let session = mockedSession(MockTransport { _ in .ok() })
        let model = Model(executor)
        let loading = Task { await model.load(session) }
        await executor.waitForWork()
        executor.runAll()
        await loading.value
        await executor.waitForWork()
        executor.runAll()
        let reading = Task { await model.text }
        await executor.waitForWork()
        executor.runAll()
        let text = await reading.value
        #expect(text == "loaded")
        await session.agent.waitUntilIdle()
    }
}
