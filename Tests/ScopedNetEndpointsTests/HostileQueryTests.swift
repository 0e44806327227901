import CleanSlate
import FoundationEssentials
import HTTPTypes
import Persistence
import ScopedNet
import ScopedNetEndpoints
import ScopedNetTesting
import Synchronization
import Testing

/// Hostile and unusual uses of queries, pages and logins.
@Suite(.leavesNothing, .noLeaks, .timeLimit(.minutes(3))) final class HostileQueryTests: HostileUse, @unchecked Sendable {
    // Safety: no state.
    // MARK: Queries

    /// Endpoints.md: "When it succeeds they stay". A question that was put before the change has an answer from before it.
    @Test func anEditThatSucceededOutlivesAnOlderAnswer() async throws {
        try await withClient(unanswered: .wait) { client, mock async throws in
            let values = CallLog()
            let operation = client.observe(Item(id: 1)).onChange { state in values.add(state.value ?? "-") }.start()
            await mock.exchange(0).respond(.ok("old"))
            let isShown = await eventually { values.all.last == "old" }
            #expect(isShown)
            client.invalidate(Item(id: 1))
            let older = await mock.exchange(1)
            let mutation = Task {
                try await client.mutate(Change(), invalidating: ["items"]) { edits in edits.edit(Item(id: 1)) { $0 = "new" } }
            }
            await mock.exchange(2).respond(.ok("done"))
            _ = try await mutation.value
            older.respond(.ok("old"))
            await mock.exchange(3).respond(.ok("new"))
            let isSettled = await eventually { values.all.last == "new" && client.queryValue(of: Item(id: 1)) == "new" }
            #expect(isSettled)
            operation?.cancel()
            await client.session.agent.waitUntilIdle()
            let since = values.all.drop { $0 != "new" }
            #expect(!since.isEmpty && !since.contains("old"), "\(values.all)")
        }
    }

    /// `mutate`: "The edits show at once. When the call has succeeded they are part of the values". The later edit was shown above the earlier one; that
    /// its call ends first is no reason to show the earlier one again, and that the earlier one fails is none to lose the later one.
    @Test func twoEditsKeepTheirOrderWhicheverEndsFirst() async throws {
        try await withClient(unanswered: .wait) { client, mock async throws in
            let (values, item) = (CallLog(), Item(id: 1))
            let operation = client.observe(item).onChange { state in values.add(state.value ?? "-") }.start()
            await mock.exchange(0).respond(.ok("x"))
            _ = await eventually { values.all.last == "x" }
            let first = Task { try await client.mutate(Change()) { edits in edits.edit(item) { $0 = "A" } } }
            let one = await mock.exchange(1)
            let second = Task { try await client.mutate(Change()) { edits in edits.edit(item) { $0 = "B" } } }
            let two = await mock.exchange(2)
            let isShown = await eventually { values.all.last == "B" }
            #expect(isShown)
            two.respond(.ok("done"))
            _ = try await second.value
            #expect(client.queryValue(of: item) == "B")
            one.fail()
            await #expect(throws: NetworkError.self) { try await first.value }
            #expect(client.queryValue(of: item) == "B")
            operation?.cancel()
            await client.session.agent.waitUntilIdle()
            #expect(!values.all.drop { $0 != "B" }.contains("A"), "\(values.all)")
        }
    }

    /// `setQueryValue`: "Sets the value of a query, as if it had come from the server." One that has come from the server is fresh for `staleTime`.
    @Test func aValueThatWasSetIsAsGoodAsTheServers() async throws {
        try await withClient(unanswered: .wait) { client, mock async throws in
            let item = Item(id: 1, staleTime: .seconds(1_000))
            let log = CallLog()
            let first = look(client, item, log)
            await mock.exchange(0).respond(.ok("a"))
            _ = await eventually { log.all.last == "a" }
            first?.cancel()
            await client.session.agent.waitUntilIdle()
            client.invalidate(item)
            client.setQueryValue("b", of: item)
            let again = CallLog()
            let second = look(client, item, again)
            _ = await eventually { !again.all.isEmpty }
            #expect(again.all.first == "b" && mock.exchanges.count == 1, "\(again.all) after \(log.all), \(mock.exchanges.count)")
            second?.cancel()
            await client.session.agent.waitUntilIdle()
        }
    }

    /// `cacheTime`: "The time for which a value is kept that nobody looks at."
    @Test func whatNobodyHasLookedAtForTooLongIsNotShown() async throws {
        let clock = ManualClock()
        try await withClient(clock: clock) { client, mock async throws in
            let item = Item(id: 1, cacheTime: .seconds(60))
            mock.on("item/1", [.ok("a"), .ok("b")])
            let log = CallLog()
            let first = look(client, item, log)
            _ = await eventually { log.all.last == "a" }
            first?.cancel()
            await client.session.agent.waitUntilIdle()
            clock.advance(by: .seconds(61))
            #expect(client.queryValue(of: item) == nil)
            let again = CallLog()
            let second = look(client, item, again)
            _ = await eventually { again.all.last == "b" }
            #expect(again.all.first == "- …", "\(again.all)")
            second?.cancel()
            await client.session.agent.waitUntilIdle()
        }
    }

    /// Endpoints.md: "when it fails they are taken back, and whatever came from the server meanwhile is not lost"; `mutate`: "or is cancelled".
    @Test func aMutationThatItsBagEndsTakesBackItsEditAlone() async throws {
        try await withClient(unanswered: .wait) { client, mock async throws in
            let (log, item, bag) = (CallLog(), Item(id: 1), DeallocBag())
            let operation = look(client, item, log)
            await mock.exchange(0).respond(.ok("old"))
            _ = await eventually { log.all.last == "old" }
            let mutation = Task { try await client.mutate(Change(), in: bag) { edits in edits.edit(item) { $0 += " + edit" } } }
            let change = await mock.exchange(1)
            client.invalidate(item)
            await mock.exchange(2).respond(.ok("fresh"))
            let isEdited = await eventually { log.all.last == "fresh + edit" }
            #expect(isEdited)
            bag.end()
            await #expect(throws: NetworkError.self) { try await mutation.value }
            let isBack = await eventually { log.all.last == "fresh" && change.isCancelled }
            #expect(isBack && client.queryValue(of: item) == "fresh")
            operation?.cancel()
            await client.session.agent.waitUntilIdle()
        }
    }

    /// `QueryObservation`: "From its start it is a `ScopedOperation`"; that: "first nothing of it is called any more, on any thread".
    @Test func anObserverMayChangeWhatItLooksAtAndLeave() async throws {
        try await withClient { client, mock async throws in
            mock.on("item/1", .ok("a"))
            let (log, item) = (CallLog(), Item(id: 1))
            let own = Mutex<ScopedOperation?>(nil)
            let observation = client.observe(item).onChange { state in
                log.add(state.value ?? "-")
                if state.value == "a", !state.isFetching { client.setQueryValue("b", of: item) }
                if state.value == "b" {
                    log.add("cancel")
                    own.withLock { $0 }?.cancel()
                }
            }
            own.withLock { $0 = observation.start() }
            let hasLeft = await eventually { log.all.contains("cancel") }
            #expect(hasLeft)
            await client.session.agent.waitUntilIdle()
            client.setQueryValue("c", of: item)
            client.invalidate(tags: ["items"])
            await client.session.agent.waitUntilIdle()
            #expect(log.all.last == "cancel" && log.all.count { $0 == "cancel" } == 1, "\(log.all)")
            own.withLock { $0 = nil }
        }
    }

    // MARK: Pages

    /// `NextPage.link`: "One to another origin … would get the fields of the service, credentials among them: it is not asked". A redirect has left the
    /// credentials behind already; a link of the page behind it must not bring them after.
    @Test func aRedirectAndALinkLeadNoSecretElsewhere() async throws {
        try await withClient(Server(headers: ["Authorization": "Bearer secret"])) { client, mock async throws in
            mock.on("http://api.test/linked", .redirect(to: "http://evil.test/list"))
            mock.on("http://evil.test/list", .json("[1]").header(Self.link, "</list2>; rel=next"))
            mock.on("http://evil.test/list2", .json("[2]"))
            let pager = client.pager(of: Linked())
            _ = try? await pager.next()
            _ = try? await pager.next()
            for exchange in mock.exchanges where exchange.url.hasPrefix("http://evil.test/") {
                #expect(exchange.headers[.authorization] == nil, "\(exchange.url)")
            }
        }
    }

    /// As above: what a server writes into its `Link` field leads nowhere else, and is no crash.
    @Test(arguments: [
        "<", ">", "<>; rel=next", "<;rel=next", "<javascript:alert(1)>; rel=next", "<http://evil.test/>; rel=next",
        "<//evil.test/>; rel=next",
        "<http://api.test:81/x>; rel=next", "<https://api.test/linked>; rel=next", "<http://[::1>; rel=next", "<#next>; rel=next",
        #"<a"b>; rel="next"#, "<a b>; rel=next", "; rel=next", "<http://api.test/linked>; rel=next",
    ])
    func aHostileLinkLeadsNowhere(_ field: String) async throws {
        try await withClient { client, mock async throws in
            mock.on("linked", .json("[1]").header(Self.link, field))
            let pager = client.pager(of: Linked())
            #expect(try await pager.next()?.elements == [1])
            for _ in 0..<4 { _ = try? await pager.next() }
            #expect(mock.exchanges.allSatisfy { $0.url.hasPrefix("http://api.test/") }, "\(mock.exchanges.map(\.url))")
        }
    }

    /// `DeallocBag.cancelAll`: "Cancels what is inside now. The bag can be used again."; `Pager`: "It ends with its bag", which has not ended.
    @Test func aPagerGoesOnAfterItsPagesRequestsWereCancelled() async throws {
        try await withClient { client, mock async throws in
            mock.on("numbers?page=1", .json("[1]"))
            mock.on("numbers?page=2", .json("[2]"))
            let bag = DeallocBag()
            let pager = client.pager(of: Numbers(), in: bag)
            #expect(try await pager.next()?.elements == [1])
            bag.cancelAll()
            #expect(!bag.isEnded)
            #expect(try await pager.next()?.elements == [2])
        }
    }

    private final class Moving: APIService {
        let base = Mutex("http://one.test/")
        var baseURL: String { base.withLock { $0 } }
    }

    /// `APIService`: "Everything is asked anew for each request". `Pager`: "After an error the same page is asked again."
    @Test func aServerMayMoveBetweenPages() async throws {
        let session = MockTransport.session("http://elsewhere.test/")
        session.mock.on("http://one.test/numbers?page=1", .json("[1]"))
        session.mock.on("http://two.test/numbers?page=2", [.status(500), .json("[2]")])
        let client = APIClient(Moving(), session: session)
        let pager = client.pager(of: Numbers())
        #expect(try await pager.next()?.elements == [1])
        client.service.base.withLock { $0 = "garbage in" }
        await #expect(throws: NetworkError.self) { try await pager.next() }
        client.service.base.withLock { $0 = "http://two.test/" }
        await #expect(throws: NetworkError.self) { try await pager.next() }
        #expect(try await pager.next()?.elements == [2])
        await session.shutdown()
    }

    // MARK: Logins

    /// `LoginSource`: "Calls that the closure makes itself, with `await`, do not wait for it." By `authentication(_:)`, for a session as a whole.
    @Test func aRefusedLoginDoesNotWaitForItself() async throws {
        let place = Mutex<Session?>(nil)
        let login = LoginSource {
            guard let session = place.withLock({ $0 }) else { return }
            _ = try await session.get("login", as: String.self).value()
        }
        let session = MockTransport.session("http://api.test/") { $0.options.authentication = login.authentication { .bearer("old") } }
        place.withLock { $0 = session }
        for name in ["a", "login"] { session.mock.on(name, .status(401).header(.wwwAuthenticate, "Bearer")) }
        let isOver = Mutex(false)
        let task = Task { () -> NetworkError? in
            defer { isOver.withLock { $0 = true } }
            do throws(NetworkError) {
                _ = try await session.get("a", as: String.self).value()
                return nil
            } catch { return error }
        }
        let ended = await eventually { isOver.withLock { $0 } }
        // It would wait for ever.
        if !ended { login.cancel() }
        let error = await task.value
        #expect(ended && error != nil, "the login waits for itself")
        await session.agent.waitUntilIdle()
        place.withLock { $0 = nil }
        await session.shutdown()
    }

    /// The same by the interceptor, through the client: a wrong password is a 401 as well.
    @Test func aRefusedLoginOfTheClientDoesNotWaitForItself() async throws {
        let place = Mutex<APIClient<Server>?>(nil)
        let login = LoginSource {
            guard let client = place.withLock({ $0 }) else { return }
            _ = try await client.send(Get(path: "login"))
        }
        try await withClient(Server(interceptors: [login.interceptor { $0.head.status == 401 }])) { client, mock async throws in
            place.withLock { $0 = client }
            for name in ["a", "login"] { mock.on(name, .status(401)) }
            let isOver = Mutex(false)
            let task = Task { () -> FailureKind? in
                defer { isOver.withLock { $0 = true } }
                do throws(NetworkError) {
                    _ = try await client.send(Get(path: "a"))
                    return nil
                } catch { return FailureKind(error) }
            }
            let ended = await eventually { isOver.withLock { $0 } }
            if !ended { login.cancel() }
            let kind = await task.value
            #expect(ended && kind == .loginNeeded, "\(String(describing: kind))")
            await client.session.agent.waitUntilIdle()
            place.withLock { $0 = nil }
        }
    }

    /// A dialog that stays until somebody closes it, whoever has lost interest.
    private final class Stubborn: Sendable {
        private let state = Mutex((count: 0, isClosed: false, waiters: [CheckedContinuation<Void, Never>]()))
        var count: Int { state.withLock { $0.count } }

        func show() async throws {
            await withCheckedContinuation { (waiter: CheckedContinuation<Void, Never>) in
                let isClosed = state.withLock { state -> Bool in
                    state.count += 1
                    if !state.isClosed { state.waiters.append(waiter) }
                    return state.isClosed
                }
                if isClosed { waiter.resume() }
            }
            throw LoginSource.Cancelled()
        }

        func close() {
            let waiters = state.withLock { state -> [CheckedContinuation<Void, Never>] in
                defer { state.waiters = [] }
                state.isClosed = true
                return state.waiters
            }
            for waiter in waiters { waiter.resume() }
        }
    }

    /// `LoginSource`: "A call that is cancelled stops waiting, and when the last one has gone the closure's task is cancelled." A login that nobody waits for
    /// any more, and that has not begun, shows no dialog.
    @Test func aLoginThatNobodyWaitsForDoesNotBegin() async throws {
        let dialog = Stubborn()
        let login = LoginSource { try await dialog.show() }
        try await withClient(Server(interceptors: [login.interceptor { $0.head.status == 401 }])) { client, mock async throws in
            mock.on("a", .status(401))
            let (one, two) = (DeallocBag(), DeallocBag())
            client.call(Get(path: "a")).start(in: one)
            let isShown = await eventually { dialog.count == 1 && login.waitingCount == 1 }
            #expect(isShown)
            one.end()
            _ = await eventually { login.waitingCount == 0 }
            // It has to wait for the dialog that is there.
            client.call(Get(path: "a")).start(in: two)
            let waits = await eventually { login.waitingCount == 1 }
            #expect(waits && dialog.count == 1)
            two.end()
            _ = await eventually { login.waitingCount == 0 }
            dialog.close()
            let again = await eventually(within: .milliseconds(500)) { dialog.count > 1 }
            #expect(!again, "a dialog for nobody")
            await client.session.agent.waitUntilIdle()
        }
    }

    /// `LoginSource.init`: "logs in, for as long as it takes, and returns; never twice at a time".
    @Test func noTwoLoginsAreUnderWayAtOnce() async {
        let load = Mutex((now: 0, most: 0))
        let login = LoginSource {
            load.withLock { state in
                state.now += 1
                state.most = max(state.most, state.now)
            }
            await Task.yield()
            load.withLock { state in state.now -= 1 }
        }
        for _ in 0..<3_000 {
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<5 {
                    group.addTask {
                        guard number.isMultiple(of: 2) else { return login.cancel() }
                        _ = try? await login.login()
                    }
                }
            }
        }
        let isIdle = await eventually { load.withLock { $0.now } == 0 }
        #expect(isIdle && load.withLock { $0.most } == 1 && login.waitingCount == 0)
    }

    /// `LoginSource`: "it and all others that need it meanwhile wait, and then are sent again or fail together"; "says "login needed", by its status or in its
    /// body". One that may be stored is asked for again all the same.
    @Test func afterALoginTheServerIsAskedAndNotTheCache() async throws {
        let folder = "/tmp/scopednet-hostile-use-\(UInt64.random(in: 0...UInt64.max))"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let cache = ResponseCache(StoreConfiguration(directory: folder))
        let logins = Mutex(0)
        let login = LoginSource { logins.withLock { $0 += 1 } }
        let server = Server(interceptors: [login.interceptor { $0.data == Data("log in".utf8) }])
        try await withClient(server, cache: cache) { client, mock async throws in
            mock.on("a", [.ok("log in").header(.cacheControl, "max-age=60"), .ok("here").header(.cacheControl, "max-age=60")])
            #expect(try await client.send(Get(path: "a")) == "here")
            #expect(logins.withLock { $0 } == 1 && mock.exchanges.count == 2)
        }
    }
}
