import CleanSlate
import HTTPTypes
import Testing

@testable import ScopedNet

/// RFC 9110 section 14 and RFC 9111 sections 3.3 and 3.4: ranges out of what is stored, and wholes out of parts.
@Suite(.leavesNothing) struct PartTests {
    private static let whole = "0123456789"
    private static let strong = ["Cache-Control: max-age=60", "ETag: \"a\"", "Accept-Ranges: bytes"]

    private func range(_ text: String, _ more: String...) -> HTTPFields { HTTPFields(lines: ["Range: \(text)"] + more) }

    /// A server that knows ranges.
    private static func serve(_ request: CacheRequest, tag: String = "\"a\"") -> CacheTable.Reply {
        let fields = ["Cache-Control: max-age=60", "ETag: \(tag)", "Accept-Ranges: bytes"]
        let isCurrent = request.fields[.ifRange].map { $0 == tag } ?? true
        guard isCurrent, case .single(let spec) = RangeField(request) else {
            return .init(200, HTTPFields(lines: fields + ["Content-Length: 10"]), body: whole)
        }
        guard let asked = spec.resolved(length: 10) else { return .init(416, HTTPFields(lines: ["Content-Range: bytes */10"])) }
        let content = ContentRange(range: asked, completeLength: 10).description
        let body = String(whole.dropFirst(Int(asked.start)).prefix(Int(asked.count)))
        return .init(206, HTTPFields(lines: fields + ["Content-Range: \(content)", "Content-Length: \(asked.count)"]), body: body)
    }

    // MARK: Out of a whole

    @Test(
        arguments: [
            ("bytes=0-1", 206, "01", "bytes 0-1/10"), ("bytes=1-", 206, "123456789", "bytes 1-9/10"),
            ("bytes=-1", 206, "9", "bytes 9-9/10"),
            ("bytes=0-", 206, "0123456789", "bytes 0-9/10"), ("bytes=-99", 206, "0123456789", "bytes 0-9/10"),
            ("bytes=8-99", 206, "89", "bytes 8-9/10"), ("bytes=10-", 416, "", "bytes */10"), ("bytes=-0", 416, "", "bytes */10"),
            ("lines=0-1", 200, "0123456789", nil), ("bytes=x", 200, "0123456789", nil),
        ] as [(String, Int, String, String?)])
    func oneRangeIsServedFromAWhole(_ asked: String, _ status: Int, _ body: String, _ contentRange: String?) {
        var table = CacheTable()
        table.store(.init(200, HTTPFields(lines: Self.strong + ["Content-Length: 10"]), body: Self.whole))
        let given = table.ask(range(asked))
        #expect(given.sent.isEmpty)
        #expect(given.status == status)
        #expect(given.body == body)
        #expect(given.fields[.contentRange] == contentRange)
        #expect(given.fields[.contentLength] == "\(body.utf8.count)")
        #expect(given.fields[.eTag] == "\"a\"")
    }

    @Test func severalRangesAreTheServersBusiness() {
        var table = CacheTable()
        table.store(.init(200, HTTPFields(lines: Self.strong), body: Self.whole))
        let given = table.ask(range("bytes=0-1,3-4"))
        #expect(given.sent.count == 1)
        #expect(given.cacheStatus.forward == .partial)
    }

    @Test func anEmptyBodyHasNoBytes() {
        var table = CacheTable()
        table.store(.init(200, HTTPFields(lines: Self.strong), body: ""))
        #expect(table.ask(range("bytes=0-")).status == 416)
        #expect(table.ask(range("bytes=-5")).status == 416)
    }

    @Test func errorsAreServedWhole() {
        var table = CacheTable()
        table.store(.init(404, HTTPFields(lines: Self.strong), body: Self.whole))
        #expect(table.ask(range("bytes=0-1")).status == 404)
        #expect(table.ask(range("bytes=0-1,3-4")).status == 404)
    }

    /// RFC 9110 section 13.1.5.
    @Test(
        arguments: [
            ("\"a\"", "\"a\"", true), ("\"a\"", "\"b\"", false), ("W/\"a\"", "W/\"a\"", false), ("\"a\"", "W/\"a\"", false),
            ("\"a\"", "nonsense", false),
        ] as [(String, String, Bool)])
    func ifRangeComparesTagsStrongly(_ tag: String, _ condition: String, _ holds: Bool) {
        var table = CacheTable()
        table.store(.init(200, HTTPFields(lines: ["Cache-Control: max-age=60", "ETag: \(tag)"]), body: Self.whole))
        let given = table.ask(range("bytes=0-1", "If-Range: \(condition)"))
        #expect(given.sent.isEmpty)
        #expect(given.status == (holds ? 206 : 200))
        #expect(given.body == (holds ? "01" : Self.whole))
    }

    @Test func ifRangeTakesADateThatIsStrong() {
        let start = CacheTable.start
        let old = (start + -10).date.description
        let older = (start + -11).date.description
        func status(modified: String, asked: String) -> Int? {
            var table = CacheTable()
            table.store(.init(200, HTTPFields(lines: ["Cache-Control: max-age=60", "Last-Modified: \(modified)"]), body: Self.whole))
            return table.ask(range("bytes=0-1", "If-Range: \(asked)")).status
        }
        #expect(status(modified: old, asked: old) == 206)
        #expect(status(modified: old, asked: older) == 200)
        #expect(status(modified: start.date.description, asked: start.date.description) == 200)
    }

    @Test func twoIfRangesAreNone() {
        var table = CacheTable()
        table.store(.init(200, HTTPFields(lines: Self.strong), body: Self.whole))
        #expect(table.ask(range("bytes=0-1", "If-Range: \"a\"", "If-Range: \"a\"")).status == 200)
    }

    // MARK: A 206 is stored

    @Test func aPartAnswersForItsOwnBytes() {
        var table = CacheTable()
        _ = table.send(.get, "http://a.test/", range("bytes=2-6")) { Self.serve($0) }
        for (asked, body) in [("bytes=2-6", "23456"), ("bytes=3-4", "34"), ("bytes=-6", ""), ("bytes=2-", ""), ("bytes=0-3", "")] {
            let given = table.ask(range(asked))
            #expect(given.sent.isEmpty == !body.isEmpty, "\(asked)")
            if !body.isEmpty {
                #expect(given.status == 206)
                #expect(given.body == body)
            }
        }
    }

    @Test func aPartIsValidatedAsAnythingElse() {
        var table = CacheTable()
        _ = table.send(.get, "http://a.test/", range("bytes=2-6")) { Self.serve($0) }
        table.wait(100)
        let given = table.send(.get, "http://a.test/", range("bytes=3-4")) { _ in .init(304, HTTPFields(lines: ["ETag: \"a\""])) }
        #expect(given.sent.first?.fields[.ifNoneMatch] == "\"a\"")
        #expect(given.status == 206)
        #expect(given.body == "34")
    }

    @Test func aPartDoesNotAnswerOtherRequests() {
        var table = CacheTable()
        _ = table.send(.get, "http://a.test/", range("bytes=2-6")) { Self.serve($0) }
        #expect(table.ask([:], .head).sent.count == 1)
        #expect(table.ask().sent.count == 1)
        #expect(table.ask(range("bytes=3-4", "If-Range: \"b\"")).sent.count == 1)
    }

    @Test func partsOfOneRepresentationBecomeOne() {
        var table = CacheTable()
        for asked in ["bytes=2-3", "bytes=6-7", "bytes=4-5"] {
            _ = table.send(.get, "http://a.test/", range(asked)) { Self.serve($0) }
        }
        #expect(table.ask(range("bytes=4-7")).body == "4567")
        _ = table.send(.get, "http://a.test/", range("bytes=0-8")) { Self.serve($0) }
        #expect(table.ask(range("bytes=0-8")).body == "012345678")
        _ = table.send(.get, "http://a.test/", range("bytes=9-")) { Self.serve($0) }
        let whole = table.ask()
        #expect(whole.sent.isEmpty)
        #expect(whole.status == 200)
        #expect(whole.body == Self.whole)
        #expect(whole.fields[.contentRange] == nil)
        #expect(whole.fields[.contentLength] == "10")
    }

    @Test func partsWithTooManyFieldsStayApart() {
        var table = CacheTable()
        for (asked, prefix) in [("bytes=2-3", "a"), ("bytes=4-5", "b")] {
            _ = table.send(.get, "http://a.test/", range(asked)) { request in
                var reply = Self.serve(request)
                for index in 0..<700 { reply.head.fields.append(FieldText.field(HTTPField.Name("\(prefix)\(index)") ?? .via, "x")) }
                return reply
            }
        }
        #expect(table.ask(range("bytes=4-5")).body == "45")
        #expect(table.ask(range("bytes=2-5")).sent.count == 1)
    }

    @Test func anOverlapIsTakenOnce() {
        var table = CacheTable()
        _ = table.send(.get, "http://a.test/", range("bytes=1-6")) { Self.serve($0) }
        _ = table.send(.get, "http://a.test/", range("bytes=4-8")) { Self.serve($0) }
        #expect(table.ask(range("bytes=1-8")).body == "12345678")
        _ = table.send(.get, "http://a.test/", range("bytes=0-2")) { Self.serve($0) }
        #expect(table.ask(range("bytes=0-8")).body == "012345678")
    }

    @Test func partsWithOtherTagsStayApart() {
        var table = CacheTable()
        _ = table.send(.get, "http://a.test/", range("bytes=0-3")) { Self.serve($0) }
        _ = table.send(.get, "http://a.test/", range("bytes=4-6")) { Self.serve($0, tag: "\"b\"") }
        let given = table.ask(range("bytes=0-6"))
        #expect(given.sent.count == 1)
    }

    @Test(arguments: [["ETag: W/\"a\""], [], ["Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT"]])
    func withoutAStrongTagA206AnswersItsOwnRangeOnly(_ validator: [String]) {
        var table = CacheTable()
        let fields = ["Cache-Control: max-age=60", "Content-Range: bytes 0-4/10", "Content-Length: 5"] + validator
        _ = table.send(.get, "http://a.test/", range("bytes=0-4")) { _ in .init(206, HTTPFields(lines: fields), body: "01234") }
        let same = table.ask(range("bytes=0-4"))
        #expect(same.sent.isEmpty)
        #expect(same.status == 206)
        #expect(same.body == "01234")
        #expect(same.fields[.contentRange] == "bytes 0-4/10")
        #expect(table.ask(range("bytes=1-2")).sent.count == 1)
        #expect(table.ask(range("bytes=0-4", "If-Range: \"x\"")).sent.count == 1)
        #expect(table.ask().sent.count == 1)
    }

    @Test func answersToOtherRangesDoNotStandInEachOthersWay() {
        var table = CacheTable()
        for (asked, content, body) in [
            ("bytes=0-1", "bytes 0-1/10", "01"), ("bytes=2-3", "bytes 2-3/10", "23"), ("bytes=0-1", "bytes 0-1/10", "01"),
        ] {
            let fields = ["Cache-Control: max-age=60", "Content-Range: \(content)"]
            _ = table.send(.get, "http://a.test/", range(asked, "Cache-Control: no-cache")) { _ in
                .init(206, HTTPFields(lines: fields), body: body)
            }
        }
        #expect(table.entries().count == 2)
        #expect(table.ask(range("bytes=0-1")).body == "01")
        #expect(table.ask(range("bytes=2-3")).body == "23")
    }

    /// The range says six bytes and five came: nobody knows which. Answered again as it was, and never cut.
    @Test func aPartThatContradictsItselfIsNeverCut() {
        var table = CacheTable()
        let fields = ["Cache-Control: max-age=60", "ETag: \"a\"", "Content-Range: bytes 4-9/10", "Content-Length: 5"]
        _ = table.send(.get, "http://a.test/", range("bytes=-5")) { _ in .init(206, HTTPFields(lines: fields), body: "01234") }
        #expect(table.ask(range("bytes=-5")).body == "01234")
        #expect(table.ask(range("bytes=6-8")).sent.count == 1)
        var silent = CacheTable()
        let withoutLength = fields.filter { !$0.hasPrefix("Content-Length") }
        _ = silent.send(.get, "http://a.test/", range("bytes=-5")) { _ in .init(206, HTTPFields(lines: withoutLength), body: "01234") }
        #expect(silent.entries().isEmpty)
    }

    @Test func partsOfAnotherTotalStayApart() {
        var table = CacheTable()
        for (asked, content, body) in [("bytes=0-1", "bytes 0-1/10", "01"), ("bytes=2-3", "bytes 2-3/11", "23")] {
            let fields = ["Cache-Control: max-age=60", "ETag: \"a\"", "Content-Range: \(content)"]
            _ = table.send(.get, "http://a.test/", range(asked)) { _ in .init(206, HTTPFields(lines: fields), body: body) }
        }
        #expect(table.ask(range("bytes=0-3")).sent.count == 1)
    }

    @Test func aPartThatIsTheWholeIsTheWhole() {
        var table = CacheTable()
        _ = table.send(.get, "http://a.test/", range("bytes=0-")) { Self.serve($0) }
        let given = table.ask()
        #expect(given.sent.isEmpty)
        #expect(given.status == 200)
        #expect(given.fields[.contentRange] == nil)
    }

    @Test func aNewPartDoesNotTakeThePlaceOfAWhole() {
        var table = CacheTable()
        table.store(Self.serve(CacheRequest(url: "http://a.test/")))
        _ = table.send(.get, "http://a.test/", range("bytes=0-1", "Cache-Control: no-cache")) { Self.serve($0) }
        #expect(table.ask().body == Self.whole)
    }

    // MARK: Interrupted bodies

    private func interrupted(_ lines: [String], status: Int = 200, after: Int = 4) -> CacheTable {
        var table = CacheTable()
        table.store(.init(status, HTTPFields(lines: lines), body: Self.whole, brokenAfter: after))
        return table
    }

    @Test(
        arguments: [
            (strong + ["Content-Length: 10"], 200, 4, true), (strong, 200, 4, true), (strong, 200, 0, false), (strong, 404, 4, false),
            (["Cache-Control: max-age=60", "Accept-Ranges: bytes"], 200, 4, false),
            (["Cache-Control: max-age=60", "ETag: \"a\""], 200, 4, false),
            (["Cache-Control: max-age=60", "ETag: W/\"a\"", "Accept-Ranges: bytes"], 200, 4, false),
            (["Cache-Control: max-age=60", "ETag: \"a\"", "Accept-Ranges: none"], 200, 4, false),
            (["Cache-Control: no-store", "ETag: \"a\"", "Accept-Ranges: bytes"], 200, 4, false),
            (strong + ["Content-Length: 4"], 200, 4, false),
        ] as [([String], Int, Int, Bool)])
    func aBodyThatBreaksOffIsKeptWhereItCanBeCompleted(_ lines: [String], _ status: Int, _ after: Int, _ isKept: Bool) {
        let table = interrupted(lines, status: status, after: after)
        #expect(table.entries().count == (isKept ? 1 : 0))
    }

    @Test func theRestIsAskedForAndJoined() {
        var table = interrupted(Self.strong + ["Content-Length: 10", "A: 1"])
        let given = table.send { Self.serve($0) }
        #expect(given.sent.map { $0.fields[.range] } == ["bytes=4-"])
        #expect(given.sent.map { $0.fields[.ifRange] } == ["\"a\""])
        #expect(given.status == 200)
        #expect(given.body == Self.whole)
        #expect(given.fields[.contentRange] == nil)
        #expect(given.fields[.contentLength] == "10")
        #expect(given.fields["A"] == "1")
        #expect(given.cacheStatus.description == "ScopedNet; fwd=partial; fwd-status=206; stored")
        let again = table.ask()
        #expect(again.sent.isEmpty)
        #expect(again.body == Self.whole)
        #expect(table.entries().count == 1)
    }

    @Test func theRestMayBreakOffToo() {
        var table = interrupted(Self.strong)
        var reply = Self.serve(CacheRequest(url: "http://a.test/", fields: range("bytes=4-")))
        reply.brokenAfter = 3
        let given = table.send { _ in reply }
        #expect(given.isBroken)
        let next = table.send { Self.serve($0) }
        #expect(next.sent.first?.fields[.range] == "bytes=7-")
        #expect(next.body == Self.whole)
    }

    @Test func anotherRepresentationTakesThePlaceOfTheBeginning() {
        var table = interrupted(Self.strong)
        let given = table.send { Self.serve($0, tag: "\"b\"") }
        #expect(given.sent.count == 1)
        #expect(given.status == 200)
        #expect(given.body == Self.whole)
        let again = table.ask()
        #expect(again.sent.isEmpty)
        #expect(again.fields[.eTag] == "\"b\"")
        #expect(table.entries().count == 1)
    }

    @Test(arguments: [
        (206, ["ETag: \"b\"", "Content-Range: bytes 4-9/10"]), (206, ["Content-Range: bytes 4-9/10"]),
        (206, ["ETag: \"a\"", "Content-Range: bytes 5-9/10"]),
        (206, ["ETag: \"a\"", "Content-Range: bytes 3-9/10"]), (206, ["ETag: \"a\"", "Content-Range: bytes 4-8/10"]),
        (206, ["ETag: \"a\""]),
        (206, ["ETag: \"a\"", "Content-Range: bytes 4-9/*"]),
        (206, ["ETag: \"a\"", "Content-Range: bytes 4-9/10", "Content-Length: 3"]), (416, ["Content-Range: bytes */4"]), (304, []),
        (412, []),
        (206, ["ETag: W/\"a\"", "Content-Range: bytes 4-9/10"]),
    ])
    func aRestThatDoesNotFitIsThrownAwayAndTheWholeAskedFor(_ status: Int, _ lines: [String]) {
        var table = interrupted(Self.strong)
        let given = table.send { request in
            request.fields.contains(.range) ? .init(status, HTTPFields(lines: lines), body: "45678") : Self.serve(request)
        }
        #expect(given.sent.map { $0.fields[.range] } == ["bytes=4-", nil])
        #expect(given.sent.last?.fields[.ifRange] == nil)
        #expect(given.body == Self.whole)
        #expect(table.entries().count == 1)
        #expect(table.ask().body == Self.whole)
    }

    @Test func anotherTotalThanBeforeIsAnotherRepresentation() {
        var table = interrupted(Self.strong + ["Content-Length: 12"])
        let given = table.send { Self.serve($0) }
        #expect(given.sent.count == 2)
        #expect(given.body == Self.whole)
    }

    @Test func anErrorLeavesTheBeginning() {
        var table = interrupted(Self.strong)
        #expect(table.send { _ in .init(500) }.status == 500)
        #expect(table.send { _ in nil }.status == nil)
        #expect(table.send { Self.serve($0) }.sent.first?.fields[.range] == "bytes=4-")
    }

    @Test func aRestThatMustNotBeStoredIsStillJoined() {
        var table = interrupted(Self.strong)
        let given = table.send { request in
            var reply = Self.serve(request)
            reply.head.fields[.cacheControl] = "no-store"
            return reply
        }
        #expect(given.body == Self.whole)
        #expect(!given.cacheStatus.isStored)
        var varying = interrupted(Self.strong)
        let star = varying.send { request in
            var reply = Self.serve(request)
            reply.head.fields[.vary] = "*"
            return reply
        }
        #expect(star.body == Self.whole)
        #expect(!star.cacheStatus.isStored)
    }

    @Test func theBeginningAnswersRangesInItself() {
        var table = interrupted(Self.strong + ["Content-Length: 10"])
        let given = table.ask(range("bytes=1-2"))
        #expect(given.sent.isEmpty)
        #expect(given.status == 206)
        #expect(given.body == "12")
        #expect(given.fields[.contentRange] == "bytes 1-2/10")
        var unknown = interrupted(Self.strong)
        let withoutLength = unknown.ask(range("bytes=1-2"))
        #expect(withoutLength.fields[.contentRange] == "bytes 1-2/*")
    }

    @Test func aBeginningIsCompletedBeforeAnOlderWholeIsValidated() {
        var table = CacheTable()
        table.store(.init(200, HTTPFields(lines: ["Cache-Control: max-age=1", "ETag: \"old\""]), body: "old"))
        table.wait(5)
        table.store(.init(200, HTTPFields(lines: Self.strong), body: Self.whole, brokenAfter: 4))
        let unreachable = table.send { _ in nil }
        #expect(unreachable.body == "old")
        let given = table.send { Self.serve($0) }
        #expect(given.sent.first?.fields[.range] == "bytes=4-")
        #expect(given.body == Self.whole)
    }

    @Test func offlineAnOlderWholeIsBetterThanABeginning() {
        var table = CacheTable()
        table.store(.init(200, HTTPFields(lines: ["Cache-Control: max-age=1", "ETag: \"old\""]), body: "old"))
        table.wait(5)
        table.store(.init(200, HTTPFields(lines: Self.strong), body: Self.whole, brokenAfter: 4))
        table.policy.read = .only
        let given = table.ask()
        #expect(given.sent.isEmpty)
        #expect(given.body == "old")
    }

    @Test func aCallersOwnConditionIsNotMixedWithACompletion() {
        var table = interrupted(Self.strong)
        let given = table.ask(HTTPFields(lines: ["If-None-Match: \"x\""]))
        #expect(given.sent.first?.fields[.range] == nil)
        #expect(given.cacheStatus.forward == .partial)
        var offline = interrupted(Self.strong)
        #expect(offline.ask(HTTPFields(lines: ["Cache-Control: only-if-cached"])).status == 504)
    }

    @Test func aGapInTheMiddleEndsThePart() throws {
        let held = try #require(ByteRange(0, 10))
        let table = CacheTable()
        let pending = StoredResponse(
            head: CacheHead(status: 206, fields: HTTPFields(lines: ["ETag: \"a\""])), method: .get, requestTime: table.now,
            responseTime: table.now, vary: VaryRule(names: [], selections: [[]]),
            content: .pending(.part(held, completeLength: 20, prefix: 2, suffix: 3)))
        #expect(pending.completed(bodyLength: 5)?.content == .part(held, completeLength: 20))
        #expect(pending.completed(bodyLength: 6) == nil)
        #expect(pending.completed(bodyLength: -1) == nil)
        #expect(pending.interrupted(after: 4)?.content == ByteRange(0, 6).map { .part($0, completeLength: 20) })
        #expect(pending.interrupted(after: 5) == nil)
        #expect(pending.interrupted(after: 0) == nil)
    }

    @Test func aReplayThatBreaksOffIsDropped() {
        var table = CacheTable()
        let fields = ["Cache-Control: max-age=60", "ETag: \"a\"", "Content-Range: bytes 4-9/10", "Content-Length: 5"]
        let reply = CacheTable.Reply(206, HTTPFields(lines: fields), body: "01234", brokenAfter: 2)
        _ = table.send(.get, "http://a.test/", range("bytes=-5")) { _ in reply }
        #expect(table.entries().isEmpty)
    }
}
