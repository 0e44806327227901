import CleanSlate
import HTTPTypes
import Testing

@testable import ScopedNet

/// RFC 9111 section 4.1.
@Suite(.leavesNothing) struct VaryTests {
    private func fields(_ lines: [String]) -> HTTPFields { HTTPFields(lines: lines) }

    @Test(
        arguments: [
            ("Foo", ["Foo: 1"], ["Foo: 1"], true), ("Foo", ["Foo: 1"], ["Foo: 2"], false), ("Foo", ["Foo: 1"], [], false),
            ("Foo", [], [], true), ("Foo", [], ["Foo: 1"], false), ("Foo", [], ["Foo:"], false), ("foo", ["FOO: 1"], ["Foo: 1"], true),
            ("Foo", ["Foo: 1", "Other: 2"], ["Foo: 1", "Other: 3"], true), ("Foo, Bar", ["Foo: 1", "Bar: a"], ["Bar: a", "Foo: 1"], true),
            ("Foo, Bar", ["Foo: 1"], ["Foo: 1"], true), ("Foo, Bar", ["Foo: 1"], ["Foo: 1", "Bar: a"], false),
            ("Foo", ["Foo: 1,2"], ["Foo:  1, 2 "], true), ("Foo", ["Foo: 1, 2"], ["Foo: 1", "Foo: 2"], true),
            ("Foo", ["Foo: 1, 2"], ["Foo: 2, 1"], false), ("Foo", ["Foo: a"], ["Foo: A"], false),
            ("Foo", ["Foo: \"1, 2\""], ["Foo: \"1,2\""], false), ("Foo", ["Foo: \u{fc}"], ["Foo: \u{fd}"], false),
            ("Accept-Language", ["Accept-Language: en, de"], ["Accept-Language: de, EN"], true),
            ("Accept-Language", ["Accept-Language: en;q=0.5, de"], ["Accept-Language: de;q=1, en; q=0.50"], true),
            ("Accept-Language", ["Accept-Language: en;q=0.5, de"], ["Accept-Language: en, de;q=0.5"], false),
            ("Accept-Language", ["Accept-Language: en, de"], ["Accept-Language: de"], false),
            ("Accept-Encoding", ["Accept-Encoding: gzip, br"], ["Accept-Encoding: BR,GZIP"], true),
            ("Accept-Encoding", ["Accept-Encoding: gzip;q=1.0"], ["Accept-Encoding: gzip"], true),
            ("Accept-Encoding", ["Accept-Encoding: gzip;q=0"], ["Accept-Encoding: gzip"], false),
            ("Cookie", ["Cookie: a=1"], ["Cookie: a=1"], true), ("Cookie", ["Cookie: a=1"], ["Cookie: a=2"], false),
            ("Cookie", ["Cookie: a=1; b=2"], ["Cookie: a=1", "Cookie: b=2"], true), ("", ["Foo: 1"], [], true),
            (", ,", [], ["Foo: 1"], true),
        ] as [(String, [String], [String], Bool)])
    func aStoredResponseAnswersRequestsLikeItsOwn(_ vary: String, _ first: [String], _ second: [String], _ matches: Bool) {
        var table = CacheTable()
        table.store(.init(200, fields(["Cache-Control: max-age=60", "Vary: \(vary)"])), "http://a.test/", fields(first))
        let hits = table.hits(fields(second))
        #expect(hits == matches)
    }

    @Test func variantsLiveSideBySide() {
        var table = CacheTable()
        for value in ["1", "2"] {
            let reply = CacheTable.Reply(200, fields(["Cache-Control: max-age=60", "Vary: Foo"]), body: value)
            table.store(reply, "http://a.test/", fields(["Foo: \(value)"]))
        }
        #expect(table.entries().count == 2)
        #expect(table.ask(fields(["Foo: 1"])).body == "1")
        #expect(table.ask(fields(["Foo: 2"])).body == "2")
    }

    @Test func theNewestTakesThePlaceOfWhatAnsweredTheSame() {
        var table = CacheTable()
        table.store(.init(200, fields(["Cache-Control: max-age=1", "Vary: Foo"]), body: "1"), "http://a.test/", fields(["Foo: 1"]))
        table.wait(5)
        table.store(.init(200, fields(["Cache-Control: max-age=60"]), body: "2"), "http://a.test/", fields(["Foo: 1"]))
        #expect(table.entries().count == 1)
        #expect(table.ask(fields(["Foo: 9"])).body == "2")
    }

    @Test func secretsAreKeptAsHashes() throws {
        var table = CacheTable()
        let reply = CacheTable.Reply(200, fields(["Cache-Control: max-age=60", "Vary: Cookie, Authorization, Accept"]))
        table.store(reply, "http://a.test/", fields(["Cookie: session=hunter2", "Authorization: Basic hunter2", "Accept: x"]))
        let rule = try #require(table.entries().first?.response.vary)
        #expect(rule.names == ["accept", "authorization", "cookie"])
        #expect(rule.selections.first?.first == "x")
        let text = String(describing: rule)
        #expect(!text.contains("hunter2"))
    }

    @Test func tooManyVariantsMakeRoomForEachOther() {
        var policy = CachePolicy.standard
        policy.maxVariants = 3
        var table = CacheTable(policy)
        for value in 1...5 {
            let reply = CacheTable.Reply(200, fields(["Cache-Control: max-age=600", "Vary: Foo"]), body: "\(value)")
            table.store(reply, "http://a.test/", fields(["Foo: \(value)"]))
            table.wait(1)
        }
        #expect(table.entries().map { String(decoding: $0.body, as: UTF8.self) } == ["3", "4", "5"])
        table.policy.maxVariants = 0
        table.store(.init(200, fields(["Cache-Control: max-age=600", "Vary: Foo"]), body: "6"), "http://a.test/", fields(["Foo: 6"]))
        #expect(table.entries().count == 1)
    }

    /// The server chooses among what is stored, and says so by a 304.
    @Test func withoutAMatchTheTagsOfAllVariantsAreSent() {
        var table = CacheTable()
        for value in ["1", "2"] {
            let reply = CacheTable.Reply(200, fields(["Cache-Control: max-age=60", "Vary: Foo", "ETag: \"\(value)\""]), body: value)
            table.store(reply, "http://a.test/", fields(["Foo: \(value)"]))
            table.wait(1)
        }
        let given = table.send(.get, "http://a.test/", fields(["Foo: 3"])) { _ in .init(304, HTTPFields(lines: ["ETag: \"1\""])) }
        #expect(given.sent.map { $0.fields[.ifNoneMatch] } == ["\"2\", \"1\""])
        #expect(given.status == 200)
        #expect(given.body == "1")
        #expect(given.cacheStatus.description == "ScopedNet; fwd=vary-miss; fwd-status=304; stored")
        // The server's word is remembered.
        #expect(table.ask(fields(["Foo: 3"])).body == "1")
        #expect(table.ask(fields(["Foo: 1"])).body == "1")
        #expect(table.ask(fields(["Foo: 2"])).body == "2")
    }

    @Test func aBare304ToSeveralTagsSaysNothing() {
        var table = CacheTable()
        for value in ["1", "2"] {
            let reply = CacheTable.Reply(200, fields(["Cache-Control: max-age=60", "Vary: Foo", "ETag: \"\(value)\""]), body: value)
            table.store(reply, "http://a.test/", fields(["Foo: \(value)"]))
        }
        let given = table.send(.get, "http://a.test/", fields(["Foo: 3"])) { request in
            request.fields.contains(.ifNoneMatch) ? .init(304) : .init(200, body: "3")
        }
        #expect(given.sent.count == 2)
        #expect(given.body == "3")
    }

    @Test func tagsAreNotAddedToConditionsAndRangesOfTheCaller() {
        for line in ["If-None-Match: \"x\"", "If-Modified-Since: x", "Range: bytes=0-1"] {
            var table = CacheTable()
            let reply = CacheTable.Reply(200, fields(["Cache-Control: max-age=60", "Vary: Foo", "ETag: \"1\""]))
            table.store(reply, "http://a.test/", fields(["Foo: 1"]))
            let given = table.ask(fields([line]))
            let caller = fields([line])[.ifNoneMatch]
            #expect(given.sent.first?.fields[.ifNoneMatch] == caller)
            #expect(given.cacheStatus.forward == .varyMiss)
        }
    }

    @Test func aResponseIsRememberedForSoManyRequests() throws {
        let request = { (value: Int) in CacheRequest(url: "http://a.test/", fields: HTTPFields(lines: ["Foo: \(value)"])) }
        let hash: SecretHash = { _ in "" }
        var rule = try #require(VaryRule(HTTPFields(lines: ["Vary: Foo"]), for: request(0), hashSecret: hash))
        for value in 1...20 { rule.extend(to: request(value), hashSecret: hash) }
        #expect(rule.selections.count == VaryRule.maxSelections)
        #expect(rule.matches(request(20), hashSecret: hash))
        #expect(!rule.matches(request(0), hashSecret: hash))
        rule.extend(to: request(5), hashSecret: hash)
        #expect(rule.selections.last == ["5"])
        #expect(rule.selections.count == VaryRule.maxSelections)
    }

    @Test func aListOfNamesHasAnEnd() {
        let request = CacheRequest(url: "http://a.test/")
        func rule(_ count: Int) -> VaryRule? {
            let names = (0..<count).map { "n\($0)" }.joined(separator: ", ")
            return VaryRule(HTTPFields(lines: ["Vary: \(names)"]), for: request, hashSecret: { _ in "" })
        }
        #expect(rule(VaryRule.maxNames) != nil)
        #expect(rule(VaryRule.maxNames + 1) == nil)
    }

    @Test func aDamagedRuleMatchesNothing() {
        let rule = VaryRule(names: ["a", "b"], selections: [["1"], ["1", nil], []])
        #expect(rule.selections == [["1", nil]])
        let odd = VaryRule(names: ["a b"], selections: [["1"]])
        let matches = odd.matches(CacheRequest(url: "http://a.test/"), hashSecret: { _ in "" })
        #expect(!matches)
    }
}
