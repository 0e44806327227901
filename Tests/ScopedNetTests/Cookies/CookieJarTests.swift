import CleanSlate
import Foundation
import Persistence
import SystemSupport
import Testing

@testable import ScopedNet

/// A jar in memory, and one that outlives the process.
@Suite(.leavesNothing, .timeLimit(.minutes(5))) struct CookieJarTests {
    private func withFolder(_ body: (StoreConfiguration) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/jar-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await body(StoreConfiguration(directory: folder))
    }

    @Test func cookiesAreSetReadAndRemoved() throws {
        let jar = CookieJar()
        #expect(try jar.set("a=1; Path=/x; Max-Age=60; HttpOnly", for: "https://example.com/x/y"))
        #expect(try jar.set("b=2; Domain=example.com; Secure; SameSite=Lax", for: "https://www.example.com/"))
        #expect(try !jar.set("c=3; Domain=other.com", for: "https://example.com/"))
        #expect(throws: NetworkError.self) { try jar.set("a=1", for: "not a url") }
        let cookies = jar.cookies
        #expect(cookies.map(\.name) == ["b", "a"])
        #expect(cookies[1].path == "/x" && cookies[1].isHTTPOnly && cookies[1].isHostOnly && cookies[1].expiryDate != nil)
        #expect(cookies[0].domain == "example.com" && cookies[0].isSecure && cookies[0].sameSite == .lax && cookies[0].expiryDate == nil)
        #expect(jar.cookies(for: "https://example.com/x/z").map(\.value) == ["1", "2"])
        #expect(jar.cookies(for: "http://example.com/").isEmpty)
        #expect(jar.cookies(for: "nonsense").isEmpty)
        jar.remove { $0.name == "a" }
        #expect(jar.cookies.map(\.name) == ["b"])
        jar.removeAll()
        #expect(jar.cookies.isEmpty)
    }

    @Test func whatHasExpiredIsNotShown() throws {
        let time = Lock(1_000.0)
        let jar = CookieJar(store: nil, partition: "", now: { time.withLock { $0 } })
        try jar.set("a=1; Max-Age=10", for: "https://example.com/")
        #expect(jar.cookies.count == 1)
        time.withLock { $0 = 1_010 }
        #expect(jar.cookies.isEmpty)
    }

    @Test func cookiesOutliveTheJarUnlessTheyEndWithIt() async throws {
        try await withFolder { configuration in
            let store = Store(configuration)
            let first = await CookieJar(store)
            try first.set("kept=1; Max-Age=3600; Path=/; Secure; SameSite=Strict; HttpOnly", for: "https://example.com/")
            try first.set("ended=1", for: "https://example.com/")
            try first.set("replaced=1; Max-Age=3600", for: "https://example.com/")
            try first.set("replaced=2", for: "https://example.com/")
            try first.set("removed=1; Max-Age=3600", for: "https://example.com/")
            try first.set("removed=1; Max-Age=0", for: "https://example.com/")
            try await first.flush()
            let kept = try #require(first.cookies.first { $0.name == "kept" })
            // The next process: a store has its folder for itself.
            await store.close()
            let second = await CookieJar(configuration)
            #expect(second.cookies == [kept])
        }
    }

    /// What made room in memory is gone from the disk, too, and nothing of it comes back.
    @Test func whatIsEvictedOrRemovedDoesNotComeBack() async throws {
        try await withFolder { configuration in
            let store = Store(configuration)
            let jar = await CookieJar(store)
            for number in 0..<50 { try jar.set("old\(number)=1; Max-Age=3600", for: "https://example.com/") }
            try await jar.flush()
            for number in 0..<10 { try jar.set("new\(number)=1; Max-Age=3600", for: "https://example.com/") }
            try await jar.flush()
            let kept = try await store.records(in: "cookies/")
            #expect(kept.count == 50)
            let again = await CookieJar(store)
            #expect(again.cookies.count == 50 && again.cookies.filter { $0.name.hasPrefix("new") }.count == 10)
            jar.removeAll()
            try await jar.flush()
            let left = try await store.records(in: "cookies/")
            #expect(left.isEmpty)
        }
    }

    /// As the documentation shows: one jar for each account, of one folder.
    @Test func jarsOfOneFolderShareItsStore() async throws {
        try await withFolder { configuration in
            let anna = await CookieJar(configuration, partition: "anna")
            let ben = await CookieJar(configuration, partition: "ben")
            try anna.set("a=1; Max-Age=3600", for: "https://example.com/")
            try ben.set("b=1; Max-Age=3600", for: "https://example.com/")
            try await anna.flush()
            try await ben.flush()
            let again = await CookieJar(configuration, partition: "ben")
            #expect(again.cookies.map(\.name) == ["b"])
        }
    }

    @Test func partitionsDoNotSeeEachOther() async throws {
        try await withFolder { configuration in
            let store = Store(configuration)
            let anna = await CookieJar(store, partition: "anna")
            let ben = await CookieJar(store, partition: "ben")
            try anna.set("a=1; Max-Age=3600", for: "https://example.com/")
            try ben.set("b=1; Max-Age=3600", for: "https://example.com/")
            try await anna.flush()
            try await ben.flush()
            let annaAgain = await CookieJar(store, partition: "anna")
            #expect(annaAgain.cookies.map(\.name) == ["a"])
            anna.removeAll()
            try await anna.flush()
            let empty = await CookieJar(store, partition: "anna")
            let other = await CookieJar(store, partition: "ben")
            #expect(empty.cookies.isEmpty && other.cookies.map(\.name) == ["b"])
        }
    }

    @Test func withoutADiskTheMemoryWorksAlone() async throws {
        let jar = await CookieJar(StoreConfiguration(directory: "/proc/no-such-place/jar"))
        try jar.set("a=1; Max-Age=3600", for: "https://example.com/")
        #expect(jar.cookies.count == 1)
        await #expect(throws: StoreError.self) { try await jar.flush() }
        #expect(jar.cookies.count == 1)
    }

    /// A disk that comes late brings nothing back that was removed meanwhile, in the jar or on itself.
    @Test func whatWasRemovedBeforeItWasReadStaysRemoved() async throws {
        try await withFolder { configuration in
            let store = Store(configuration)
            let first = await CookieJar(store)
            try first.set("session=1; Max-Age=3600", for: "https://example.com/")
            try first.set("other=1; Max-Age=3600", for: "https://example.com/")
            try await first.flush()
            let late = CookieJar(store: store, partition: "", now: { Date.now.timeIntervalSince1970 })
            try late.set("session=1; Max-Age=3600", for: "https://example.com/")
            try late.set("session=; Max-Age=0", for: "https://example.com/")
            try await late.flush()
            #expect(late.cookies.map(\.name) == ["other"])
            let again = await CookieJar(store)
            #expect(again.cookies.map(\.name) == ["other"])
        }
    }

    /// What is to be sealed never shares a store that is not.
    @Test func sealedAndUnsealedDoNotShare() async throws {
        try await withFolder { configuration in
            let open = CookieJar.store(configuration)
            let same = CookieJar.store(configuration)
            var sealed = configuration
            sealed.sealing = NoSealing()
            let other = CookieJar.store(sealed)
            #expect(open === same && open !== other)
            await other.close()
            await open.close()
        }
    }

    private struct NoSealing: StoreSealing {
        var overhead: Int { 0 }
        func seal(_ text: Data, context: Data) throws(StoreError) -> Data { text }
        func open(_ sealed: Data, context: Data) throws(StoreError) -> Data { sealed }
        func hash(_ text: Data) -> Data { Data(repeating: 0, count: 16) }
    }

    @Test func manyWritersAtOnceLoseNothing() async throws {
        try await withFolder { configuration in
            let store = Store(configuration)
            let jar = await CookieJar(store)
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<40 {
                    group.addTask { _ = try? jar.set("c\(number)=1; Max-Age=3600", for: "https://h\(number).example.com/") }
                }
            }
            try await jar.flush()
            let again = await CookieJar(store)
            #expect(again.cookies.count == 40)
        }
    }

    @Test(arguments: [("com", true), ("co.uk", true), ("example.com", false), ("example.co.uk", false)])
    func publicSuffixesAreKnownWithAndWithoutTheList(domain: String, isSuffix: Bool) {
        #expect(PublicSuffixes.contains(domain) == isSuffix)
        #expect(PublicSuffixes.isLikely(domain) == isSuffix)
    }

    @Test(.enabled(if: PublicSuffixes.isComplete, "there is no libpsl here")) func theListKnowsMoreThanTheRulesOfThumb() {
        #expect(PublicSuffixes.contains("github.io") && !PublicSuffixes.isLikely("github.io"))
    }

    @Test func theFolderIsTheUsersState() throws {
        #expect(try StoreConfiguration.stateDirectory("x").hasSuffix("/x"))
    }
}
