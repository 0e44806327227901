import CleanSlate
import FoundationEssentials
import HTTPTypes
import Persistence
import ScopedNet
import ScopedNetEndpoints
import ScopedNetTesting
import Synchronization
import Testing

/// Hostile and unusual uses of calls, groups and accessories.
@Suite(.leavesNothing, .noLeaks, .timeLimit(.minutes(3))) final class HostileUseTests: HostileUse, @unchecked Sendable {
    // Safety: no state.
    // MARK: The articles

    /// MigratingFromYBNetwork.md shows this page as one that works: "the cache block | `onCached`, then `onSuccess` with what the server says".
    @MainActor @Test func theSampleOfYBNetworkGetsItsAnswer() async throws {
        let client = APIClient(ForumAPI(), session: MockTransport.session("http://elsewhere.test/"))
        client.session.mock.on("https://forum.example.com/api/threads", .json(#"{"titles":["one"]}"#))
        let page = ThreadsPage()
        page.search("swift", with: client)
        await client.session.agent.waitUntilIdle()
        #expect(page.titles == ["one"])
        await client.session.shutdown()
    }

    // MARK: A call that is ended in silence

    /// Endpoints.md: "neither success nor failure is told"; `CallGroupDelegate`: "A cancellation is none."; `Poll.onFailure`: "Not after a cancel."
    @Test(arguments: ["batch", "chain", "poll", "query"])
    func aCallThatEndsInSilenceIsNobodysFailure(_ group: String) async throws {
        try await withClient(Server(interceptors: [Dropping()])) { client, mock async throws in
            mock.on("a", .ok("login"))
            mock.on("item/1", .ok("login"))
            let log = CallLog()
            let operation: ScopedOperation?
            switch group {
            case "batch":
                operation = client.batch(of: [Get(path: "a")])
                    .onSuccess { _ in log.add("success") }
                    .onFailure { _ in log.add("failure") }
                    .onEnd { _ in log.add("end") }
                    .start()
            case "chain":
                operation = client.chain().then(Get(path: "a"))
                    .onSuccess { _ in log.add("success") }
                    .onFailure { _ in log.add("failure") }
                    .onEnd { _ in log.add("end") }
                    .start()
            case "poll":
                operation = client.poll(Get(path: "a"), PollSchedule(every: .zero, attempts: 1))
                    .onSuccess { _ in log.add("success") }
                    .onFailure { _ in log.add("failure") }
                    .onEnd { _ in log.add("end") }
                    .start()
            default:
                operation = client.observe(Item(id: 1)).onChange { state in
                    if state.value != nil { log.add("success") }
                    if state.error != nil { log.add("failure") }
                    if !state.isFetching { log.add("end") }
                }.start()
            }
            await mock.waitForExchanges(1)
            _ = await eventually(within: .seconds(1)) { log.all.contains { $0 != "success" } }
            operation?.cancel()
            await client.session.agent.waitUntilIdle()
            #expect(!mock.exchanges.isEmpty)
            #expect(!log.all.contains("success") && !log.all.contains("failure"), "\(group): \(log.all)")
        }
    }

    // MARK: Describing

    private struct Marked: Endpoint {
        typealias Value = String
        var path: String { "marked" }
        func configure(_ options: inout RequestOptions) { options.userInfo = ["mine": 7] }
    }

    /// Endpoints.md: "Interceptors, observers and mocks find the endpoint of a request under `APICall.endpointKey` in its `userInfo`."
    @Test func anEndpointIsFoundWhateverElseIsNoted() async throws {
        try await withClient { client, mock async throws in
            mock.stub(Marked.self) { _ in .ok("stubbed") }
            #expect(try await client.send(Marked()) == "stubbed")
            let exchange = try #require(mock.exchanges.last)
            #expect(exchange.endpoint is Marked && exchange.userInfo["mine"] as? Int == 7)
        }
    }

    private struct Named: Endpoint {
        struct Refused: Error {}
        typealias Value = String
        let name: String
        var path: String { "users/\(name)" }
        func validate() throws { if name.contains(" ") { throw Refused() } }
    }

    /// `Endpoint.validate`: "anything, to refuse the call: as `APIService.adapt(_:)`"; that: "it is the `underlying` of `invalidParameters`, and nothing is sent".
    @Test func aRefusalIsToldAlsoWhereItsPathIsNoURL() async throws {
        try await withClient { client, mock async throws in
            let error = await #expect(throws: NetworkError.self) { try await client.send(Named(name: "a b")) }
            #expect(error?.code == .invalidParameters && error?.underlying is Named.Refused, "\(String(describing: error))")
            #expect(mock.exchanges.isEmpty)
        }
    }

    /// Sends its secret to its own server alone.
    private struct Careful: APIService {
        var baseURL: String { "http://api.test/v1/" }
        func adapt(_ call: inout APICall) throws { if !call.isAbsolute { call.headers["Authorization"] = "Bearer secret" } }
    }

    /// `APICall.isAbsolute`: "True where the path is a URL of its own, and no base is put before it."
    @Test(arguments: [
        "//evil.test/x", "///evil.test/x", "////evil.test/x", #"\\evil.test/x"#, #"/\evil.test/x"#, "http:evil.test/x", "http:/evil.test/x",
        "HTTP://evil.test/x", "//api.test@evil.test/x", "x/..//evil.test/x", "?//evil.test/x", "",
    ])
    func aPathLeadsNoSecretElsewhere(_ path: String) async throws {
        let session = MockTransport.session("http://api.test/")
        let client = APIClient(Careful(), session: session)
        _ = try? await client.send(Get(path: path))
        for exchange in session.mock.exchanges {
            let isOwn = exchange.url.hasPrefix("http://api.test/")
            #expect(isOwn || exchange.headers[.authorization] == nil, "\(path): \(exchange.url)")
        }
        await session.shutdown()
    }

    /// `HeaderFields`: "fails the start of the request with `invalidHeader`, and nothing is sent". Garbage is a failure, and neither a crash nor a request.
    @Test(arguments: [
        ("not a url", "x", ""), ("", "x", ""), ("ftp://x.test/", "x", ""), ("http://", "x", ""), ("http://api.test:99999/", "x", ""),
        ("http://api.test/", "a b", ""), ("http://api.test/", "a\r\nX-Evil: 1", ""), ("http://api.test/", "stories:recent", ""),
        ("http://api.test/", "x", "1\r\nX-Evil: 1"), ("http://api.test/", "x", "\0"),
    ])
    func garbageIsAFailure(base: String, path: String, field: String) async throws {
        let server = Server(baseURL: base, headers: field.isEmpty ? [:] : ["X-Note": field])
        try await withClient(server) { client, mock async throws in
            let error = await #expect(throws: NetworkError.self) { try await client.send(Get(path: path)) }
            let codes: [NetworkError.Code] = [.invalidURL, .unsupportedScheme, .invalidHeader]
            #expect(error.map { codes.contains($0.code) } == true && mock.exchanges.isEmpty, "\(String(describing: error))")
        }
    }

    /// `cdnURL`: "Default: nil, which stands for that of the parent"; `baseURL`: "Default: empty, which stands for that of the parent"; fields: the innermost.
    @Test func parentsThatDisagreeAreHeardFromTheInside() async throws {
        let outer = Server(baseURL: "http://outer.test/", cdnURL: "http://cdn.test/", headers: ["X-From": "outer", "X-Outer": "1"])
        let middle = Server(baseURL: "http://middle.test", parent: outer, headers: ["X-From": "middle"])
        let inner = Server(baseURL: "", parent: middle, headers: [:])
        try await withClient(inner) { client, mock async throws in
            mock.on("http://cdn.test/x", .ok("cdn"))
            mock.on("http://middle.test/x", .ok("middle"))
            #expect(try await client.send(Get(path: "x", usesCDN: true)) == "cdn")
            #expect(try await client.send(Get(path: "x")) == "middle")
            let fields = try #require(mock.exchanges.last).headers
            #expect(fields[HTTPField.Name("X-From")!] == "middle" && fields[HTTPField.Name("X-Outer")!] == "1")
        }
    }

    // MARK: Destinations

    private struct Episode: Endpoint {
        typealias Value = URL
        let file: URL
        var method = HTTPRequest.Method.get
        var path: String { "episode" }
        var destination: EndpointDestination<URL> { .file(file) }
    }

    /// `.file(_:)`: "For a GET without a body; any other is `invalidParameters`"; `Session.download`: "the folder must exist"; a stub answers by type.
    @Test func aDownloadIsStubbedAndRefusedAsAnyCall() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "hostile-use-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await withClient { client, mock async throws in
            mock.stub(Episode.self) { _ in .ok("sound") }
            let file = folder.appending(path: "1.mp3")
            #expect(try await client.send(Episode(file: file)) == file)
            #expect(FileManager.default.contents(atPath: file.path) == Data("sound".utf8))
            let missing = folder.appending(path: "missing")
            let unwritable = await #expect(throws: NetworkError.self) {
                try await client.send(Episode(file: missing.appending(path: "1.mp3")))
            }
            #expect(unwritable?.isCancelled == false && !FileManager.default.fileExists(atPath: missing.path))
            let count = mock.exchanges.count
            for method in [HTTPRequest.Method.post, .head, .delete] {
                let error = await #expect(throws: NetworkError.self) { try await client.send(Episode(file: file, method: method)) }
                #expect(error?.code == .invalidParameters)
            }
            #expect(mock.exchanges.count == count && FileManager.default.contents(atPath: file.path) == Data("sound".utf8))
        }
    }

    /// `APIClient.stream`: "bag: ends the stream, too"; `DeallocBag.end`: "Whatever is inserted later is cancelled at once and sends no byte."
    @Test func aStreamInAnEndedBagSendsNothing() async throws {
        try await withClient { client, mock async throws in
            let bag = DeallocBag()
            bag.end()
            let error = await #expect(throws: NetworkError.self) { try await client.stream(Get(path: "a"), in: bag) }
            #expect(error?.cancelReason == .ownerReleased && mock.exchanges.isEmpty && bag.count == 0)
        }
    }

    // MARK: Accessories

    /// `start(in:)`: "nil for a batch that belongs to nobody"; `EndpointCall.start()`: "Starts a run that belongs to nobody."; `Event.didStop`: "It is over".
    @Test(arguments: ["batch", "chain", "call"])
    func whatBelongsToNobodyIsNotOverWithABag(_ kind: String) async throws {
        try await withClient(unanswered: .wait) { client, mock async throws in
            let (lines, bag) = (CallLog(), DeallocBag())
            let heard = accessory(lines)
            await bag.task {
                switch kind {
                case "batch": _ = client.batch(of: [Get(path: "a")]).accessory(heard).onSuccess { _ in lines.add("success") }.start()
                case "chain": _ = client.chain().then(Get(path: "a")).accessory(heard).onSuccess { _ in lines.add("success") }.start()
                default: _ = client.call(Get(path: "a")).accessory(heard).onSuccess { _ in lines.add("success") }.start()
                }
            }.value
            let exchange = await mock.exchange(0)
            _ = await eventually { !lines.all.isEmpty }
            bag.end()
            _ = await eventually(within: .milliseconds(200)) { lines.all.contains("didStop") }
            exchange.respond(.ok("a"))
            await client.session.agent.waitUntilIdle()
            #expect(lines.all == ["willStart", "willStop", "success", "didStop"])
        }
    }

    /// Endpoints.md: "Those of a service (`APIService.accessories`) hear of each call". `EndpointCall`: "Closures arm the next start".
    @Test func aServiceHearsOfEachStartOfACall() async throws {
        let lines = CallLog()
        try await withClient(Server(accessories: [accessory(lines)])) { client, mock async throws in
            mock.on("a", .ok("a"))
            let call = client.call(Get(path: "a"))
            for _ in 0..<2 {
                call.start()
                await client.session.agent.waitUntilIdle()
            }
            #expect(mock.exchanges.count == 2)
            #expect(lines.all == ["willStart", "willStop", "didStop", "willStart", "willStop", "didStop"])
        }
    }

    /// `Event.willStop`: "Not after a cancel."; `didStop`: "also after a cancel. Comes once for each `willStart`".
    @Test func anAccessoryMayCancelItsOwnCall() async throws {
        try await withClient(unanswered: .wait) { client, mock async throws in
            let (lines, bag) = (CallLog(), DeallocBag())
            let run = Mutex<Run?>(nil)
            let heard = Accessory(
                Callback<Accessory.Event> { event in
                    lines.add("\(event)")
                    if event == .willStart { run.withLock { $0 }?.cancel() }
                })
            // The callback waits until its run is known.
            run.withLock { run in
                run = client.call(Get(path: "slow")).accessory(heard)
                    .onSuccess { _ in lines.add("success") }
                    .onFailure { _ in lines.add("failure") }
                    .start(in: bag)
            }
            await client.session.agent.waitUntilIdle()
            let areEnded = await eventually { mock.exchanges.allSatisfy(\.isEnded) }
            #expect(lines.all == ["willStart", "didStop"] && bag.count == 0 && areEnded)
            run.withLock { $0 = nil }
        }
    }

    // MARK: Groups

    private struct Number: Endpoint {
        typealias Value = String
        let value: Int
        var path: String { "number/\(value)" }
    }

    /// `Batch`: "with one end: all of their values, or the first failure, which stops the others"; `atMost`: "the most under way at a time".
    @Test func oneOfAThousandFails() async throws {
        try await withClient { client, mock async throws in
            mock.stub(Number.self) { number -> MockReply? in number.value == 500 ? .status(500) : .ok("\(number.value)") }
            let log = CallLog()
            let progress = Mutex<[Int]>([])
            let operation = client.batch(of: (0..<1_000).map { Number(value: $0) }, atMost: 3)
                .onProgress { step in
                    guard log.all.isEmpty else { return log.add("progress behind the end") }
                    progress.withLock { $0.append(step.ended) }
                }
                .onSuccess { _ in log.add("success") }
                .onFailure { failure in log.add("\(failure.name) \(failure.index)") }
                .onEnd { outcome in log.add("\(outcome)".prefix { $0 != "(" }.description) }
                .start()
            _ = await operation?.outcome()
            await client.session.agent.waitUntilIdle()
            #expect(log.all == ["Number 500", "failed"])
            let counts = progress.withLock { $0 }
            #expect(counts == Array(1...max(1, counts.count)) && mock.exchanges.count < 1_000)
        }
        try await withClient(unanswered: .wait) { client, mock async throws in
            let operation = client.batch(of: (0..<10).map { Number(value: $0) }, atMost: 3).start()
            let (one, two, three) = (await mock.exchange(0), await mock.exchange(1), await mock.exchange(2))
            two.fail()
            _ = await operation?.outcome()
            await client.session.agent.waitUntilIdle()
            #expect(mock.exchanges.count == 3 && one.isCancelled && three.isCancelled)
        }
    }

    /// `ChainContext.append`: "false where the chain is over, and nothing was appended"; `Chain`: "It is started once."
    @Test func aChainThatIsOverIsOverFromWithinItsClosuresToo() async throws {
        try await withClient { client, mock async throws in
            mock.on("a", .ok("a"))
            let (log, bag) = (CallLog(), DeallocBag())
            let chain = client.chain().then(Get(path: "a"))
            chain
                .onSuccess { [weak chain] context in
                    log.add("appended: \(context.append(Get(path: "b")))")
                    log.add("refused: \(chain?.start() == nil)")
                    // Another group may begin here.
                    client.batch(of: [Get(path: "a")]).onSuccess { _ in log.add("batch") }.start(in: bag)
                }
                .onEnd { [weak chain] _ in log.add("appended behind the end: \(chain?.context.append(Get(path: "b")) ?? true)") }
                .start(in: bag)
            await client.session.agent.waitUntilIdle()
            #expect(log.all.prefix(2) == ["appended: false", "refused: true"])
            #expect(log.all.count == 4 && log.all.contains("batch") && log.all.contains("appended behind the end: false"), "\(log.all)")
            #expect(!mock.exchanges.contains { $0.path == "/b" } && bag.count == 0)
            withExtendedLifetime(chain) {}
        }
    }

    private final class Token: Sendable {}

    /// `Batch`, `Chain`: closures "are destroyed when they can no longer be called", although the group itself is still held.
    @Test(arguments: ["success", "failure", "cancel", "bag"])
    func closuresAreGoneAtTheEnd(_ way: String) async throws {
        try await withClient(unanswered: .wait) { client, mock async throws in
            var token: Token? = Token()
            weak let gone = token
            let bag = DeallocBag()
            let batch = client.batch(of: [Get(path: "a"), Get(path: "b")])
            let chain = client.chain().then(Get(path: "c"))
            let poll = client.poll(Get(path: "d"), PollSchedule(attempts: 1), until: { _ in true })
            if let token {
                batch.onProgress { _ in withExtendedLifetime(token) {} }.onSuccess { _ in withExtendedLifetime(token) {} }
                    .onFailure { _ in withExtendedLifetime(token) {} }.onEnd { _ in withExtendedLifetime(token) {} }
                chain.then(Get(path: "e")) { _ in withExtendedLifetime(token) {} }
                    .onProgress { _ in withExtendedLifetime(token) {} }.onSuccess { _ in withExtendedLifetime(token) {} }
                    .onFailure { _ in withExtendedLifetime(token) {} }.onEnd { _ in withExtendedLifetime(token) {} }
                poll.onValue { _ in withExtendedLifetime(token) {} }.onSuccess { _ in withExtendedLifetime(token) {} }
                    .onFailure { _ in withExtendedLifetime(token) {} }.onEnd { _ in withExtendedLifetime(token) {} }
            }
            token = nil
            #expect(gone != nil)
            let operations = [batch.start(in: bag), chain.start(in: bag), poll.start(in: bag)]
            await mock.waitForExchanges(4)
            switch way {
            case "success":
                for exchange in mock.exchanges { exchange.respond(.ok("x")) }
                // The second step of the chain.
                await mock.exchange(4).respond(.ok("x"))
            case "failure": for exchange in mock.exchanges { exchange.fail() }
            case "cancel": for operation in operations { operation?.cancel() }
            default: bag.end()
            }
            await client.session.agent.waitUntilIdle()
            let isGone = await eventually { gone == nil }
            #expect(isGone)
            withExtendedLifetime((batch, chain, poll, operations)) {}
        }
    }
}
