import CleanSlate
import Foundation
import HTTPTypes
import ScopedNetTestServer
import ScopedNetTesting
import Testing

@testable import ScopedNet

/// SES-11: an accepted response is read, refused or made a download before any of its body is.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1)))
struct DispositionHookTests {
    struct Refusal: Error {}
    private let folder = TemporaryFolder()

    @Test(arguments: FrontDoor.allCases, [0, 5, 300_000])
    func anAllowedBodyIsRead(door: FrontDoor, count: Int) async throws {
        try await withWire { wire async throws in
            let text = String(repeating: "a", count: count)
            wire.server.on("/", .ok(text))
            let asked = Gathered<RequestHooks.IncomingResponse>()
            let request = wire.get().decideDisposition { arrival in
                asked.add(arrival)
                await Task.yield()
                return .allow
            }
            let report = try await door.send(request)
            #expect(report.outcome == .success(text))
            if door != .awaiting { #expect(report.calls.first == "head 200") }
            let arrival = try #require(asked.all.first)
            #expect(asked.all.count == 1)
            #expect(arrival.url == wire.url + "/")
            #expect(arrival.head["content-type"] == "text/plain; charset=utf-8")
            #expect(!arrival.canBecomeDownload)
        }
    }

    /// The body stays in its connection, and the idle clock with it, however long the answer takes.
    @Test(arguments: [0, 5, 8 << 20])
    func noByteIsDeliveredBeforeTheAnswer(count: Int) async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok(.bytes(Array(bytes(count)))))
            let (asked, answer) = (Latch(), Latch())
            let calls = Trace()
            let request = wire.get { $0.timeouts.idle = .milliseconds(700) }.decideDisposition { _ in
                asked.open()
                await answer.wait()
                return .allow
            }.onResponseHead { _ in calls.add("head") }.onDownloadProgress { _ in calls.add("progress") }
                .onSuccess { calls.add("success \($0.isSame(as: bytes(count)))") }
            request.start()
            await asked.wait()
            try await Task.sleep(for: .milliseconds(1_500))
            #expect(calls.lines.isEmpty)
            answer.open()
            await wire.agent.waitUntilIdle()
            #expect(calls.lines.first == "head")
            #expect(calls.lines.last == "success true")
        }
    }

    @Test(arguments: FrontDoor.allCases, [0, 8 << 20])
    func aRefusedResponseIsCancelled(door: FrontDoor, count: Int) async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok(.bytes(Array(bytes(count)))))
            let report = try await door.send(wire.get().decideDisposition { _ in .cancel })
            #expect(report.outcome == .cancelled(.explicit))
            #expect(!report.calls.contains("head 200"))
        }
    }

    @Test(arguments: FrontDoor.allCases, [0, 8 << 20])
    func anErrorEndsTheRun(door: FrontDoor, count: Int) async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok(.bytes(Array(bytes(count)))))
            let own = NetworkError(.badResponse, phase: .receiving, message: "not this one")
            let first = try await door.send(wire.get().decideDisposition { _ in throw own })
            #expect(first.outcome == .failure(.badResponse))
            let second = try await door.send(wire.get().decideDisposition { _ in throw Refusal() })
            #expect(second.outcome == .failure(.hookFailed))
            let error = try await wire.get().decideDisposition { _ in throw Refusal() }.failure()
            #expect(error.underlying is Refusal)
            #expect(error.response?.status == 200)
        }
    }

    // SES-5, SES-12
    @Test(arguments: FrontDoor.allCases, [0, 5, 3 << 20])
    func aResponseBecomesADownload(door: FrontDoor, count: Int) async throws {
        let recorder = EventRecorder()
        try await withWire {
            $0.observers = [recorder]
        } _: { wire async throws in
            wire.server.on("/", .ok(.bytes(Array(bytes(count)))))
            _ = folder.write("old", to: "file")
            let file = URL(filePath: folder.path + "/file")
            let request = wire.session.request(wire.url + "/", decoder: .dataOrFile).decideDisposition { arrival in
                arrival.canBecomeDownload ? .download(to: file) : .cancel
            }
            let report = try await door.send(request)
            #expect(report.outcome == .success("\(RequestHooks.DataOrFile.file(file))"))
            #expect(folder.contents(of: "file").isSame(as: bytes(count)))
            #expect(folder.names == ["file"])
            let result = try #require(try request.result?.get())
            #expect(result.file == file)
            #expect(result.body.isEmpty)
            let events = recorder.events.compactMap { kind -> String? in
                switch kind {
                case .becameDownload(let path): "became \(path == file.path)"
                case .fileWritten(let path, let bytes): "written \(path == file.path) \(bytes)"
                case .finished(let completion): "finished \(completion.filePath == file.path)"
                default: nil
                }
            }
            #expect(events == ["became true", "written true \(count)", "finished true"])
        }
    }

    @Test func whatDoesNotBecomeOneIsData() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok("text"))
            let response = try await wire.session.request(wire.url + "/", decoder: .dataOrFile).decideDisposition { _ in .allow }.response()
            #expect(response.value == .data(Data("text".utf8)))
            #expect(response.file == nil)
        }
    }

    @Test func onlyWhatMayBeAFileBecomesOne() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok("text"))
            let file = URL(filePath: folder.path + "/file")
            let plain = try await wire.get().decideDisposition { _ in .download(to: file) }.failure()
            #expect(plain.code == .invalidOption)
            let elsewhere = try #require(URL(string: "https://h/file"))
            let remote = wire.session.request(wire.url + "/", decoder: .dataOrFile).decideDisposition { _ in .download(to: elsewhere) }
            #expect(try await remote.failure().code == .invalidOption)
            let missing = URL(filePath: folder.path + "/no/such/folder/file")
            let lost = wire.session.request(wire.url + "/", decoder: .dataOrFile).decideDisposition { _ in .download(to: missing) }
            #expect(try await lost.failure().code == .fileUnwritable)
            #expect(folder.names.isEmpty)
        }
    }

    @Test func aDownloadThatFailsLeavesTheFile() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok("0123456789").ending(.truncate(afterBytes: 4)))
            _ = folder.write("old", to: "file")
            let file = URL(filePath: folder.path + "/file")
            let request = wire.session.request(wire.url + "/", decoder: .dataOrFile).decideDisposition { _ in .download(to: file) }
            #expect(try await request.failure().code == .truncatedBody)
            #expect(folder.contents(of: "file") == Data("old".utf8))
            #expect(folder.names == ["file"])
        }
    }

    // MARK: What it is asked about

    @Test func errorsRedirectsAndRetriedStatusesAreNoQuestion() async throws {
        try await withWire { wire async throws in
            let asked = Trace()
            wire.server.on("/old", .redirect(to: "/busy"))
            wire.server.enqueue(.redirect(to: "/busy"))
            wire.server.enqueue(.status(503))
            wire.server.on("/busy", .ok("there"))
            let request = wire.get("/old") { $0.retry = RetryPolicy(maxAttempts: 2, backoffBase: .milliseconds(1)) }.decideDisposition {
                asked.add("\($0.head.status) \($0.url.dropFirst(wire.url.count))")
                return .allow
            }
            #expect(try await request.value() == Data("there".utf8))
            wire.server.on("/gone", .status(404))
            #expect(try await wire.get("/gone").decideDisposition { _ in .cancel }.failure().code == .unacceptableStatus)
            wire.server.on("/page", .ok("<html>").with { $0.headers = ["Content-Type": "text/html"] })
            let page = wire.session.get(wire.url + "/page", as: [Int].self).decideDisposition { _ in .cancel }
            #expect(try await page.failure().code == .unacceptableContentType)
            #expect(asked.lines == ["200 /busy"])
        }
    }

    @Test func aStoredResponseIsNoQuestion() async throws {
        try await withCache { cached async throws in
            cached.server.on("/", ScriptedResponse.ok("there").header("Cache-Control", "max-age=60"))
            let asked = Counter()
            func get() async throws(NetworkError) -> Response<Data> {
                try await cached.wire.get().decideDisposition { _ in
                    asked.add()
                    return .allow
                }.response()
            }
            #expect(try await get().source == .network)
            let second = try await get()
            #expect(second.source == .cache)
            #expect(second.body == Data("there".utf8))
            #expect(asked.value == 1)
        }
    }

    @Test func aDownloadIsNotStored() async throws {
        try await withCache { cached async throws in
            cached.server.on("/", ScriptedResponse.ok("there").header("Cache-Control", "max-age=60"))
            let file = URL(filePath: folder.path + "/file")
            let wire = cached.wire
            let request = wire.session.request(wire.url + "/", decoder: .dataOrFile).decideDisposition { _ in .download(to: file) }
            #expect(try await request.value() == .file(file))
            #expect(try await wire.get().response().source == .network)
        }
    }

    // MARK: Streams

    @Test func aStreamBeginsWithTheAnswer() async throws {
        let trace = Trace()
        try await withWire {
            $0.options.hooks.disposition = { arrival in
                trace.add("asked \(arrival.canBecomeDownload)")
                return arrival.url.hasSuffix("/no") ? .cancel : .allow
            }
        } _: { wire async throws in
            for count in [0, 5, 1 << 20] {
                wire.server.on("/", .ok(.bytes(Array(bytes(count)))))
                let stream = try await wire.session.stream(wire.url + "/")
                var body = Data()
                for try await piece in stream.bytes { body.append(piece) }
                #expect(body.isSame(as: bytes(count)))
            }
            wire.server.on("/no", .ok("no"))
            let error = await #expect(throws: NetworkError.self) { try await wire.session.stream(wire.url + "/no") }
            #expect(error?.cancelReason == .explicit)
            #expect(trace.lines == Array(repeating: "asked false", count: 4))
        }
    }

    // MARK: Cancels and failures meanwhile

    @Test(arguments: FrontDoor.allCases, [0, 5, 8 << 20])
    func aCancelDoesNotWaitForTheHook(door: FrontDoor, count: Int) async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok(.bytes(Array(bytes(count)))))
            let (asked, never, wasCancelled) = (Latch(), Latch(), Latch())
            let request = wire.get().decideDisposition { _ in
                asked.open()
                await withTaskCancellationHandler {
                    await never.wait()
                } onCancel: {
                    wasCancelled.open()
                }
                return .allow
            }
            let report = try await door.send(request) { handle in
                await asked.wait()
                handle.cancel()
                await wasCancelled.wait()
            }
            never.open()
            #expect(report.outcome == .cancelled(door.ownReason))
            #expect(!report.calls.contains("head 200"))
        }
    }

    @Test(arguments: [Step.headReceived, .hookAnswered])
    func nothingFollowsACancel(step: Step) async throws {
        for count in [0, 300_000] {
            try await withWire { wire async throws in
                wire.server.on("/", .ok(.bytes(Array(bytes(count)))))
                let (hits, trace) = (Counter(), Trace())
                let number = StepDoor.add { taken, run in
                    guard taken == step, let mine = wire.agent.liveRuns().first(where: { $0.id == run }) else { return }
                    hits.add()
                    _ = mine.cancel(.explicit)
                }
                defer { StepDoor.remove(number) }
                let file = URL(filePath: folder.path + "/file")
                wire.session.request(wire.url + "/", decoder: .dataOrFile).decideDisposition { _ in .download(to: file) }
                    .onResponseHead { _ in trace.add("head") }.onSuccess { _ in trace.add("success") }
                    .onFailure { _ in trace.add("failure") }.onEnd { trace.add("end \($0.isCancelled)") }.start()
                await wire.agent.waitUntilIdle()
                #expect(hits.value >= 1)
                #expect(trace.lines == ["end true"])
                #expect(folder.names.isEmpty)
            }
        }
    }

    // Defect 23
    @Test func theTotalTimeGoesOnWhileTheHookDecides() async throws {
        try await withWire { wire async throws in
            for count in [0, 8 << 20] {
                wire.server.on("/", .ok(.bytes(Array(bytes(count)))))
                let never = Latch()
                let error = try await wire.get { $0.timeouts.total = .milliseconds(200) }.decideDisposition { _ in
                    await never.wait()
                    return .allow
                }.failure()
                never.open()
                #expect(error.code == .totalTimeout, "\(error)")
            }
        }
    }

    @Test func aSuspendedRunWaitsOnAfterTheAnswer() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok(.bytes(Array(bytes(8 << 20)))))
            let (asked, answer, answered) = (Latch(), Latch(), Latch())
            let number = StepDoor.add { step, run in
                if step == .hookAnswered, wire.agent.liveRuns().contains(where: { $0.id == run }) { answered.open() }
            }
            defer { StepDoor.remove(number) }
            let ends = Trace()
            let run = wire.get().decideDisposition { _ in
                asked.open()
                await answer.wait()
                return .allow
            }.onSuccess { ends.add("\($0.isSame(as: bytes(8 << 20)))") }.start()
            await asked.wait()
            #expect(run.suspend())
            answer.open()
            await answered.wait()
            #expect(ends.lines.isEmpty)
            #expect(run.resume())
            await wire.agent.waitUntilIdle()
            #expect(ends.lines == ["true"])
        }
    }

    /// With a libcurl that pauses HTTP/2 badly the request says HTTP/1.1, as a stream does; with others it need not.
    @Test func whatMayHaveToWaitPrefersHTTP1WhereThatIsSafer() async throws {
        let authority = try TestAuthority()
        try await withWire(.tls(authority, [.http2, .http1])) {
            $0.tls.certificateAuthority = .pem(authority.certificatePEM)
        } _: { wire async throws in
            wire.server.on("/", .ok("there"))
            let expected = Capabilities.current.pausesHTTP2Safely ? "2" : "1.1"
            #expect(try await wire.get().decideDisposition { _ in .allow }.response().head.version == expected)
            #expect(try await wire.get { $0.hooks.disposition = { _ in .allow } }.response().head.version == expected)
        }
        // Asked for, HTTP/2 is what is spoken.
        try await withWire(.tls(authority, [.http2, .http1])) {
            $0.tls.certificateAuthority = .pem(authority.certificatePEM)
        } _: { wire async throws in
            wire.server.on("/", .ok("there"))
            let asked = try await wire.get { $0.httpVersion = .http2 }.decideDisposition { _ in .allow }.response()
            #expect(asked.head.version == "2")
            #expect(asked.body == Data("there".utf8))
        }
    }

    // MARK: Mocks

    @Test(arguments: [false, true])
    func theMockTransportHoldsBodiesToo(isFile: Bool) async throws {
        try await withStage { session, stage in
            let (asked, answer) = (Latch(), Latch())
            let file = URL(filePath: folder.path + "/file")
            let request = session.request("http://h/", decoder: .dataOrFile).decideDisposition { _ in
                asked.open()
                await answer.wait()
                return isFile ? .download(to: file) : .allow
            }
            request.start()
            let exchange = await stage.exchange(0)
            exchange.receiveHead()
            exchange.receive("one ")
            exchange.receive("two")
            exchange.finish()
            await asked.wait()
            #expect(!exchange.isEnded)
            answer.open()
            await session.agent.waitUntilIdle()
            let value = try request.result?.get().value
            #expect(value == (isFile ? .file(file) : .data(Data("one two".utf8))))
            if isFile { #expect(folder.contents(of: "file") == Data("one two".utf8)) }
        }
    }
}
