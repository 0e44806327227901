import CleanSlate
import Foundation
import Persistence
import SystemSupport
import Testing

@testable import ScopedNet

@Suite(.leavesNothing, .timeLimit(.minutes(5))) struct HSTSTableTests {
    /// By reference: an expectation cannot change a value.
    private final class Table {
        private var value: HSTSTable

        init(most: Int = 10_000) { value = HSTSTable(most: most) }

        var names: [String] { value.names }
        func receive(_ text: String, from host: String, now: Double) -> HSTSTable.Decision { value.receive(text, from: host, now: now) }
        func dropExcess(now: Double) -> [String] { value.dropExcess(now: now) }
        func preload(_ name: String, includesSubdomains: Bool) { value.preload(name, includesSubdomains: includesSubdomains) }
        func isSecure(_ host: String, now: Double) -> Bool { value.isSecure(host, now: now) }
    }

    @Test(arguments: [
        ("max-age=31536000", 31_536_000, false), ("max-age=15768000 ; includeSubDomains", 15_768_000, true),
        ("max-age=\"60\"", 60, false), ("MAX-AGE=1;INCLUDESUBDOMAINS", 1, true), (" includeSubDomains;; max-age = 5 ;", 5, true),
        ("max-age=60; preload; a=b; c=\"d\"", 60, false), ("a=\"b;c\"; max-age=7", 7, false), ("max-age=8; a=\"\\\";b\"", 8, false),
        ("max-age=0; includeSubDomains", 0, true),
        ("max-age=99999999999999999999", 1 << 31, false),
    ]) func policiesOfRFC6797(_ text: String, _ maxAge: Int64, _ includesSubdomains: Bool) throws {
        let policy = try #require(HSTSPolicy(text))
        #expect(policy.maxAge == maxAge && policy.includesSubdomains == includesSubdomains)
    }

    @Test(arguments: [
        "", ";", "includeSubDomains", "max-age", "max-age=", "max-age=-1", "max-age=1.5", "max-age=\"1", "max-age='1'",
        "max-age=1; max-age=1", "max-age=1; includeSubDomains; INCLUDESUBDOMAINS", "max-age=1; includeSubDomains=1", "max-age=1; a b",
        "max-age=1, max-age=2", "=1; max-age=1", "max-age=1; \u{e9}=1",
    ])
    func textThatIsNoPolicy(_ text: String) { #expect(HSTSPolicy(text) == nil) }

    @Test func theHostItselfAndThoseBelowItWhereItSaysSo() {
        let table = Table()
        #expect(table.receive("max-age=10", from: "One.example.", now: 100) == .noted("one.example"))
        #expect(table.receive("max-age=10; includeSubDomains", from: "all.example", now: 100) == .noted("all.example"))
        for host in ["one.example", "ONE.example.", "all.example", "a.all.example", "a.b.all.example"] {
            #expect(table.isSecure(host, now: 109), "\(host)")
            #expect(!table.isSecure(host, now: 110), "\(host)")
        }
        for host in ["a.one.example", "example", "notall.example", "all.example.org", ""] { #expect(!table.isSecure(host, now: 101)) }
        #expect(table.receive("max-age=0", from: "all.example", now: 101) == .removed("all.example"))
        #expect(table.receive("max-age=0", from: "all.example", now: 101) == .ignored)
        #expect(!table.isSecure("a.all.example", now: 101))
    }

    @Test(arguments: ["127.0.0.1", "[::1]", "::1", "", "."]) func anAddressHasNoPolicy(_ host: String) {
        let table = Table()
        #expect(table.receive("max-age=10", from: host, now: 0) == .ignored && !table.isSecure(host, now: 0))
    }

    @Test func thePolicyOfEachResponseIsNotEachAChange() {
        let table = Table()
        #expect(table.receive("max-age=10000", from: "a.example", now: 0) == .noted("a.example"))
        #expect(table.receive("max-age=10000", from: "a.example", now: 10) == .ignored)
        #expect(table.receive("max-age=10000", from: "a.example", now: 11) == .noted("a.example"))
        #expect(table.receive("max-age=10000; includeSubDomains", from: "a.example", now: 11) == .noted("a.example"))
        // Shorter than before, and after its end.
        #expect(table.receive("max-age=9000; includeSubDomains", from: "a.example", now: 12) == .noted("a.example"))
        #expect(table.receive("max-age=9000; includeSubDomains", from: "a.example", now: 9012) == .noted("a.example"))
        #expect(table.isSecure("b.a.example", now: 18_011) && !table.isSecure("b.a.example", now: 18_012))
    }

    @Test func preloadedHostsStay() {
        let table = Table()
        table.preload("listed.example", includesSubdomains: true)
        table.preload("listed.example", includesSubdomains: false)
        #expect(table.isSecure("a.listed.example", now: 1e12))
        #expect(table.receive("max-age=0", from: "listed.example", now: 0) == .ignored && table.isSecure("listed.example", now: 0))
        #expect(table.receive("max-age=5", from: "listed.example", now: 0) == .noted("listed.example"))
        #expect(table.isSecure("a.listed.example", now: 1))
    }

    @Test func whatEndsFirstMakesRoom() {
        let table = Table(most: 3)
        for (index, age) in [50, 10, 40, 30, 20].enumerated() { _ = table.receive("max-age=\(age)", from: "h\(index).example", now: 0) }
        #expect(Set(table.dropExcess(now: 0)) == ["h1.example", "h4.example"])
        #expect(table.dropExcess(now: 0).isEmpty && table.names.count == 3)
        _ = table.receive("max-age=90", from: "late.example", now: 45)
        #expect(Set(table.dropExcess(now: 45)) == ["h2.example", "h3.example"])
    }

    @Test(arguments: [
        ("http://a.example/x?y=1#z", 80, "https://a.example/x?y=1#z"), ("http://a.example:80", 80, "https://a.example"),
        ("http://a.example:8080/", 8080, "https://a.example:8080/"),
        ("http://ann:80@a.example/?a=:80", 80, "https://ann:80@a.example/?a=:80"),
        ("http://ann:80@a.example:80/", 80, "https://ann:80@a.example/"), ("http://[::80]/", 80, "https://[::80]/"),
        ("http://[::1]:80/", 80, "https://[::1]/"), ("http://a.example?x", 80, "https://a.example?x"),
    ]) func thePortIsMapped(_ url: String, _ port: Int, _ upgraded: String) { #expect(HSTSTable.upgraded(url, port: port) == upgraded) }

    // MARK: The store

    @Test func entriesAreAddedShownAndRemoved() throws {
        let time = Lock(1_000.0)
        let store = Session.HSTSStore(store: nil, partition: "", now: { time.withLock { $0 } })
        let expiry = Date(timeIntervalSince1970: 1_010)
        try store.add([.init("B.example", expiryDate: expiry), .init("listed.example", includesSubdomains: true)])
        #expect(store.entries == [.init("b.example", expiryDate: expiry), .init("listed.example", includesSubdomains: true)])
        #expect(store.isSecure("b.example") && store.isSecure("x.listed.example") && !store.isSecure("x.b.example"))
        store.remove("listed.example")
        store.removeAll()
        #expect(store.entries.map(\.host) == ["listed.example"])
        store.receive("max-age=5", from: "c.example")
        time.withLock { $0 = 1_005 }
        #expect(!store.isSecure("c.example") && store.entries.count == 1)
        let wrong = [
            "", "127.0.0.1", "[::1]", "a b", "b\u{fc}cher.example", "a/b", "a?b", "a:1", "*.example", ".a.example", "a..example", "..",
            "-a",
        ]
        for host in wrong {
            #expect(throws: NetworkError.self, "\(host)") { try store.add([.init("good.example"), .init(host)]) }
        }
        #expect(!store.isSecure("good.example"))
    }

    @Test func entriesOutliveTheProcess() async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/hsts-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let disk = Store(StoreConfiguration(directory: folder))
        let first = await Session.HSTSStore(disk)
        first.receive("max-age=3600; includeSubDomains", from: "kept.example")
        first.receive("max-age=3600", from: "removed.example")
        first.receive("max-age=0", from: "removed.example")
        try first.add([.init("listed.example")])
        try await first.flush()
        let jar = await CookieJar(disk)
        try jar.set("a=1; Max-Age=100", for: "https://kept.example/")
        try await jar.flush()
        let other = await Session.HSTSStore(disk, partition: "other")
        #expect(other.entries.isEmpty)
        let kept = first.entries.filter { $0.host == "kept.example" }
        await disk.close()
        let second = await Session.HSTSStore(StoreConfiguration(directory: folder))
        #expect(second.entries == kept && second.isSecure("a.kept.example"))
        #expect(await CookieJar(StoreConfiguration(directory: folder)).cookies.count == 1)
        second.removeAll()
        try await second.flush()
        await second.store?.close()
        #expect(await Session.HSTSStore(StoreConfiguration(directory: folder)).entries.isEmpty)
    }
}
