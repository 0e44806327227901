import CleanSlate
import Foundation
import Persistence
import ScopedNetTesting
import SystemSupport
import Testing

@testable import ScopedNet

@Suite(.leavesNothing) struct TokenLifeTests {
    @Test func theLeewayIsATenthAtMost() {
        let hour = TokenLife(from: 0, lifetime: .seconds(3600), leeway: .seconds(30))
        #expect(hour.due == 3570_000_000_000 && hour.expiry == 3600_000_000_000)
        let minute = TokenLife(from: 5, lifetime: .seconds(60), leeway: .seconds(30))
        #expect(minute.due == 54_000_000_005 && minute.expiry == 60_000_000_005)
        for leeway in [Duration.zero, .seconds(-3)] {
            let life = TokenLife(from: 0, lifetime: .seconds(60), leeway: leeway)
            #expect(life.due == life.expiry)
        }
    }

    @Test func theAgeIsThatOfTheMoment() {
        let life = TokenLife(from: 100, lifetime: .nanoseconds(1000), leeway: .nanoseconds(50))
        let ages: [(UInt64, TokenLife.Age)] = [(100, .good), (1049, .good), (1050, .due), (1099, .due), (1100, .expired), (.max, .expired)]
        for (now, age) in ages { #expect(life.age(at: now) == age, "\(now)") }
        for none in [Duration.zero, .seconds(-1)] {
            #expect(TokenLife(from: 100, lifetime: none, leeway: .seconds(1)).age(at: 100) == .expired)
        }
        #expect(TokenLife(from: .max - 5, lifetime: .seconds(1), leeway: .zero).expiry == .max)
        #expect(TokenLife(from: 0, lifetime: .seconds(3600), leeway: .seconds(40)).pause == 10_000_000_000)
        #expect(life.pause == 1_000_000_000)
    }
}

@Suite(.leavesNothing) struct EarlyRenewalStateTests {
    @Test func nobodyWaitsForAnEarlyRenewal() {
        var state = TokenState("old")
        #expect(state.ask(insteadOf: nil, waiter: 1, .due) == .useAndRenew("old", 1))
        #expect(state.ask(insteadOf: nil, waiter: 2, .due) == .use("old"))
        #expect(state.ready(.due) == .use("old"))
        #expect(state.isEarly(1))
        #expect(state.renewed(1, "new") == [])
        #expect(state.ready() == .use("new"))
    }

    @Test func whoIsRefusedOrLateWaitsForIt() {
        var state = TokenState("old")
        #expect(state.ready(.due) == .useAndRenew("old", 1))
        #expect(state.ask(insteadOf: nil, waiter: 1, .expired) == .wait)
        #expect(state.ready(.due) == .use("old"))
        #expect(state.ask(insteadOf: "old", waiter: 2, .due) == .wait)
        // Refused: of no use to anybody.
        #expect(state.ready(.due) == nil)
        #expect(state.ask(insteadOf: nil, waiter: 3, .due) == .wait)
        // Begun for nobody, it goes on for nobody.
        #expect([1, 2, 3].map { state.leave($0) } == [nil, nil, nil])
        #expect(state.renewed(1, "new") == [])
        #expect(state.token == "new")
    }

    @Test func anExpiredOneIsRenewedForWhoWaits() {
        var state = TokenState("old")
        #expect(state.ready(.expired) == nil)
        #expect(state.ask(insteadOf: nil, waiter: 1, .expired) == .renew(1, refused: "old"))
        #expect(state.ready(.good) == nil)
        #expect(!state.isEarly(1))
        #expect(state.renewed(1, nil) == [1])
        #expect(state.ask(insteadOf: "other", waiter: 2, .expired) == .renew(2, refused: "old"))
    }
}

@Suite(.leavesNothing, .timeLimit(.minutes(5))) struct TokenExpiryTests {
    private struct Down: Error {}

    /// Answers with the token that came, and refuses those in the list.
    private func withTokens(
        _ tokens: TokenSource, refusing refused: [String] = [], _ body: (Session, ManualClock) async throws -> Void
    ) async throws {
        let clock = ManualClock()
        let transport = MockTransport { exchange in
            let field = exchange.headers[.authorization] ?? ""
            return refused.contains { field == "Bearer \($0)" } ? .status(401) : .ok(field)
        }
        var configuration = Session.Configuration(customTransport: transport, agent: RequestAgent())
        configuration.use(clock)
        configuration.options.authentication = .tokens(tokens)
        let session = Session(configuration: configuration)
        try await body(session, clock)
        await session.agent.waitUntilIdle()
    }

    private func sent(_ session: Session) async throws -> String? { try await session.send("http://h/").text }

    @Test func aTokenIsRenewedBesideShortlyBeforeItExpires() async throws {
        let renewals = Gathered<String?>()
        let mayEnd = Latch()
        let tokens = TokenSource(TokenSource.Token("1", expiresIn: .seconds(600), refresh: "r1")) { old in
            renewals.add(old?.refresh)
            await mayEnd.wait()
            return TokenSource.Token("2", expiresIn: .seconds(600), refresh: "r2")
        }
        try await withTokens(tokens) { session, clock async throws in
            #expect(try await sent(session) == "Bearer 1")
            clock.advance(by: .seconds(569))
            #expect(try await sent(session) == "Bearer 1")
            #expect(renewals.all.isEmpty)
            clock.advance(by: .seconds(2))
            // No request waits for it.
            for _ in 0..<5 { #expect(try await sent(session) == "Bearer 1") }
            #expect(try await tokens.token() == "1")
            mayEnd.open()
            while tokens.token != "2" { await Task.yield() }
            #expect(try await sent(session) == "Bearer 2")
            #expect(renewals.all == ["r1"])
            #expect(tokens.current?.refresh == "r2")
            clock.advance(by: .seconds(569))
            #expect(try await sent(session) == "Bearer 2")
        }
    }

    @Test func anExpiredTokenIsFetchedOnceForAllThatWait() async throws {
        let renewals = Counter()
        let mayEnd = Latch()
        let tokens = TokenSource(TokenSource.Token("1", expiresIn: .seconds(600))) { _ in
            renewals.add()
            await mayEnd.wait()
            return TokenSource.Token("2", expiresIn: .seconds(600))
        }
        try await withTokens(tokens) { session, clock async throws in
            #expect(try await sent(session) == "Bearer 1")
            clock.advance(by: .seconds(601))
            let answers = await withTaskGroup(of: String?.self) { group in
                for _ in 0..<20 { group.addTask { try? await sent(session) } }
                while tokens.waiterCount < 20 { await Task.yield() }
                mayEnd.open()
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(answers == Array(repeating: "Bearer 2", count: 20))
            #expect(renewals.value == 1)
            // No request went out with the old one.
            #expect(session.mock.exchanges.count == 21)
        }
    }

    @Test func aFailedEarlyRenewalFailsNothingAndIsTriedAgainAfterAPause() async throws {
        let renewals = Counter()
        let tokens = TokenSource(TokenSource.Token("1", expiresIn: .seconds(600)), leeway: .seconds(40)) { _ in
            renewals.add()
            throw Down()
        }
        func waitForRenewals(_ count: Int) async {
            while renewals.value < count { await Task.yield() }
            while tokens.isRenewing { await Task.yield() }
        }
        try await withTokens(tokens) { session, clock async throws in
            _ = try await sent(session)
            clock.advance(by: .seconds(561))
            #expect(try await sent(session) == "Bearer 1")
            await waitForRenewals(1)
            for _ in 0..<3 { #expect(try await sent(session) == "Bearer 1") }
            #expect(renewals.value == 1)
            clock.advance(by: .seconds(11))
            #expect(try await sent(session) == "Bearer 1")
            await waitForRenewals(2)
            #expect(renewals.value == 2)
            clock.advance(by: .seconds(30))
            let error = await #expect(throws: NetworkError.self) { try await sent(session) }
            #expect(error?.code == .authenticationFailed && error?.underlying is Down)
            #expect(renewals.value == 3)
        }
    }

    @Test func aRefusalIsRenewedAsBefore() async throws {
        let tokens = TokenSource(TokenSource.Token("1", expiresIn: .seconds(600))) { old in
            TokenSource.Token((old?.value ?? "") + "2", expiresIn: .seconds(600))
        }
        try await withTokens(tokens, refusing: ["1"]) { session, _ async throws in
            #expect(try await sent(session) == "Bearer 12")
            #expect(session.mock.exchanges.count == 2)
        }
    }

    @Test func aDateIsAnExpiryToo() async throws {
        let tokens = TokenSource(TokenSource.Token("1", expiresAt: .now.addingTimeInterval(-1))) { _ in TokenSource.Token("2") }
        #expect(try await tokens.token() == "2")
        #expect(try await tokens.token() == "2")
        let fresh = TokenSource(TokenSource.Token("1", expiresAt: .now.addingTimeInterval(1000))) { _ in throw Down() }
        #expect(try await fresh.token() == "1")
        let none = TokenSource(TokenSource.Token("1", expiresIn: .zero)) { _ in TokenSource.Token("2", expiresIn: .seconds(100)) }
        try await withTokens(none) { session, _ async throws in #expect(try await sent(session) == "Bearer 2") }
    }

    @Test func aDescriptionShowsNoSecret() {
        let token = TokenSource.Token("sesame", expiresIn: .seconds(60), refresh: "open")
        var dumped = ""
        dump(token, to: &dumped)
        for text in ["\(token)", String(reflecting: token), dumped] {
            #expect(!text.contains("sesame") && !text.contains("open"), "\(text)")
        }
        #expect("\(token)".contains("with a refresh token"))
        #expect(TokenSource.Token("a", expiresIn: .seconds(Int64.max)).expiresAt != nil)
    }

    // MARK: Storage

    @Test func theTokenIsLoadedOnceAndKeptBeforeItIsUsed() async throws {
        let trace = Trace()
        let kept = Lock<TokenSource.Token?>(TokenSource.Token("kept", expiresIn: .seconds(600), refresh: "r"))
        let storage = TokenSource.Storage {
            trace.add("load")
            return kept.withLock { $0 }
        } save: { token in
            trace.add("save \(token?.value ?? "nil")")
            kept.withLock { $0 = token }
        }
        let tokens = TokenSource(storage: storage) { old in
            trace.add("renew \(old?.refresh ?? "nil")")
            return TokenSource.Token("new", expiresIn: .seconds(600), refresh: "r2")
        }
        try await withTokens(tokens, refusing: ["kept"]) { session, _ async throws in
            #expect(try await sent(session) == "Bearer new")
            #expect(trace.lines == ["load", "renew r", "save new"])
            tokens.set(nil)
            await trace.wait(for: 4)
            #expect(try await sent(session) == "Bearer new")
            #expect(trace.lines == ["load", "renew r", "save new", "save nil", "renew nil", "save new"])
        }
    }

    @Test func whatHasExpiredIsForTheRenewal() async throws {
        let storage = TokenSource.Storage {
            TokenSource.Token("kept", expiresAt: .now.addingTimeInterval(-9), refresh: "r")
        } save: { _ in
            throw Down()
        }
        let tokens = TokenSource(storage: storage) { old in TokenSource.Token("from \(old?.refresh ?? "")") }
        #expect(try await tokens.token() == "from r")
    }

    @Test func aStorageThatCannotBeReadFailsWhoWaitsAndIsReadAgain() async throws {
        let loads = Counter()
        let storage = TokenSource.Storage {
            loads.add()
            if loads.value == 1 { throw Down() }
            return TokenSource.Token("kept")
        } save: { _ in
        }
        let tokens = TokenSource(storage: storage) { _ in throw Down() }
        let error = await #expect(throws: NetworkError.self) { try await tokens.token() }
        #expect(error?.code == .authenticationFailed)
        #expect(try await tokens.token() == "kept")
    }

    @Test func theOneInAStoreOutlivesIt() async throws {
        let folder = TemporaryFolder()
        let token = TokenSource.Token("t", expiresAt: Date(timeIntervalSince1970: 4_000_000_000), refresh: "r")
        for round in 0..<2 {
            let store = Store(StoreConfiguration(directory: folder.path))
            let storage = TokenSource.Storage(store, account: "ann")
            let other = TokenSource.Storage(store, account: "bob")
            let tokens = TokenSource(storage: storage) { _ in
                #expect(round == 0)
                return token
            }
            #expect(try await tokens.token() == "t")
            #expect(tokens.current == token)
            #expect(try await storage.load() == token)
            #expect(try await other.load() == nil)
            if round == 1 {
                try await storage.save(nil)
                #expect(try await storage.load() == nil)
            }
            await store.close()
        }
    }
}
