import CleanSlate
import HTTPTypes
import Testing

@testable import ScopedNet

/// Every answer a server can give to a download that goes on, or begins (YTK-12; RFC 9110 sections 13.1.5, 14, 15.3.7, 15.5.17).
@Suite(.leavesNothing) struct ResumeDecisionTests {
    static let url = PartRecord.sampleURL
    static let now = WallTime(secondsSince1970: 784_111_777)
    static let date = "Sun, 06 Nov 1994 08:49:37 GMT"
    static let old = PartRecord.sampleDate

    static func record(tag: String? = "\"v1\"", lastModified: String? = nil, total: Int64? = 1000) -> PartRecord {
        .sample(tag: tag, lastModified: lastModified, total: total)
    }

    static func head(_ status: Int, _ fields: [(String, String)]) -> CacheHead {
        var head = CacheHead(status: status)
        for (name, value) in fields { if let name = HTTPField.Name(name) { head.fields.append(HTTPField(name: name, value: value)) } }
        return head
    }

    private func decide(
        _ status: Int, _ fields: [(String, String)], _ record: PartRecord? = Self.record(), size: Int64 = 400, from place: String = Self.url
    ) -> ResumeDecision {
        ResumeDecision(
            Self.head(status, fields), asked: record.flatMap { PartRequest($0, size: size) },
            request: PartRecord(name: "file", url: Self.url, finalURL: place, fields: [:]), now: Self.now)
    }

    private func decide206(
        _ range: String?, tag: String? = "\"v1\"", _ more: [(String, String)] = [], _ record: PartRecord? = Self.record(),
        size: Int64 = 400, from place: String = Self.url
    ) -> ResumeDecision {
        var fields = more
        if let range { fields.append(("Content-Range", range)) }
        if let tag { fields.append(("ETag", tag)) }
        return decide(206, fields, record, size: size, from: place)
    }

    // MARK: What is asked

    @Test func whatIsAskedForIsWhatIsMissing() {
        #expect(PartRequest(Self.record(), size: 400)?.offset == 400)
        #expect(PartRequest(Self.record(total: nil), size: 1)?.offset == 1)
        #expect(PartRequest(Self.record(), size: 0) == nil)
        #expect(PartRequest(Self.record(), size: 1001) == nil, "longer than the file")
        #expect(PartRequest(Self.record(tag: nil), size: 400) == nil, "nothing to tell versions apart by")
        // The end of a file cannot be asked for: its last byte is.
        #expect(PartRequest(Self.record(), size: 1000)?.offset == 999)
        #expect(PartRequest(Self.record(total: 1), size: 1) == nil)
        #expect(PartRequest(Self.record(total: 0), size: 0) == nil)
    }

    // MARK: 206

    @Test func aRestThatFits() {
        #expect(decide206("bytes 400-999/1000") == .append(end: 1000, total: 1000))
        #expect(decide206("bytes 400-999/*") == .append(end: 1000, total: 1000))
        #expect(decide206("bytes 400-999/1000", [("Content-Length", "600")]) == .append(end: 1000, total: 1000))
        #expect(decide206("bytes 400-499/1000") == .append(end: 500, total: 1000), "a shorter range is a piece of the rest")
        #expect(decide206("bytes 999-999/1000", [], Self.record(), size: 1000) == .append(end: 1000, total: 1000))
        #expect(decide206("bytes 400-999/1000", [("Content-Encoding", "identity")]) == .append(end: 1000, total: 1000))
        // The length may be news.
        #expect(decide206("bytes 400-999/1000", [], Self.record(total: nil)) == .append(end: 1000, total: 1000))
        // A piece could not be told from the rest.
        #expect(decide206("bytes 400-999/*", [], Self.record(total: nil)) == .again(.otherTotal))
    }

    @Test(arguments: [nil, "", "bytes */1000", "bytes 400-999", "items 400-999/1000", "bytes 400-399/1000", "bytes 400-999/500", "bytes x"])
    func aRangeThatIsNone(_ range: String?) {
        #expect(decide206(range) == .again(.noRange))
    }

    @Test func aRestThatDoesNotFit() {
        #expect(decide206("bytes 399-999/1000") == .again(.otherStart))
        #expect(decide206("bytes 401-999/1000") == .again(.otherStart))
        #expect(decide206("bytes 0-999/1000") == .again(.otherStart))
        #expect(decide206("bytes 400-999/1001") == .again(.otherTotal))
        #expect(decide206("bytes 400-1000/*") == .again(.otherTotal))
        #expect(decide206("bytes 400-999/1000", [("Content-Length", "599")]) == .again(.otherLength))
        #expect(decide206("bytes 400-999/1000", [("Content-Length", "x")]) == .again(.otherLength))
        #expect(decide206("bytes 400-999/1000", [("Content-Encoding", "gzip")]) == .again(.coded))
        #expect(decide206(nil, [("Content-Type", "multipart/byteranges; boundary=x")]) == .again(.multipart))
        #expect(decide206("bytes 400-999/1000", [("Content-Type", "Multipart/ByteRanges")]) == .again(.multipart))
        #expect(decide206("bytes 400-999/1000", [("Content-Range", "bytes 400-999/1000")]) == .again(.noRange), "two of them")
    }

    @Test func anotherVersion() {
        #expect(decide206("bytes 400-999/1000", tag: "\"v2\"") == .again(.otherValidator))
        #expect(decide206("bytes 400-999/1000", tag: "W/\"v1\"") == .again(.otherValidator), "weak tags say nothing of bytes")
        #expect(decide206("bytes 400-999/1000", tag: "v1") == .again(.otherValidator))
        #expect(decide206("bytes 400-999/1000", tag: nil) == .again(.noValidator))
    }

    @Test func anotherVersionByDate() {
        let dated = Self.record(tag: nil, lastModified: Self.old)
        func decided(_ range: String, _ date: String?, _ record: PartRecord) -> ResumeDecision {
            decide206(range, tag: nil, date.map { [("Last-Modified", $0)] } ?? [], record)
        }
        #expect(decided("bytes 400-999/1000", Self.old, dated) == .append(end: 1000, total: 1000))
        #expect(decided("bytes 400-999/1000", Self.date, dated) == .again(.otherValidator))
        // The date need not come again, and then the length has to.
        #expect(decided("bytes 400-999/1000", nil, dated) == .append(end: 1000, total: 1000))
        #expect(decided("bytes 400-999/*", nil, dated) == .again(.noValidator))
        #expect(decided("bytes 400-999/1000", nil, Self.record(tag: nil, lastModified: Self.old, total: nil)) == .again(.noValidator))
    }

    @Test func anotherPlace() {
        let range = "bytes 400-999/1000"
        #expect(decide206(range, from: "http://a.test/file?signature=2") == .append(end: 1000, total: 1000))
        #expect(decide206(range, from: "http://b.test/file?v=1") == .again(.otherPlace))
        #expect(decide206(range, from: "http://a.test/other") == .again(.otherPlace))
        #expect(decide206(range, from: "https://a.test/file?v=1") == .again(.otherPlace))
    }

    @Test func aPartThatNobodyAskedFor() {
        #expect(decide206("bytes 400-999/1000", [], nil) == .refuse)
        #expect(decide206("bytes 0-999/1000", [], nil) == .refuse)
        #expect(decide206(nil, tag: nil, [], nil) == .refuse)
    }

    // MARK: 200

    private func restarted(_ fields: [(String, String)]) -> PartRecord? {
        guard case .restart(let record) = decide(200, fields, nil) else {
            Issue.record("no restart")
            return nil
        }
        return record
    }

    @Test func theWholeFileBeginsAnew() throws {
        let record = try #require(restarted([("ETag", "\"v2\""), ("Content-Length", "7"), ("Content-Type", "a/b")]))
        #expect(record.tag == "\"v2\"" && record.total == 7 && record.contentType == "a/b" && record.url == Self.url)
        // Also where the rest had been asked for, and the file is the same.
        let same = decide(200, [("ETag", "\"v1\""), ("Content-Length", "1000")])
        #expect(same == .restart(restarted([("ETag", "\"v1\""), ("Content-Length", "1000")])))
        let unsized = try #require(restarted([("ETag", "\"v2\"")]))
        #expect(unsized.total == nil)
    }

    @Test func onlyStrongValidatorsMakeARecord() throws {
        #expect(restarted([]) == nil)
        #expect(restarted([("ETag", "W/\"v\"")]) == nil)
        #expect(restarted([("ETag", "v")]) == nil)
        #expect(restarted([("ETag", "\"v\""), ("ETag", "\"w\"")]) == nil)
        // RFC 9110 section 8.8.2.2: a second change within the second would not show.
        #expect(restarted([("Last-Modified", Self.date), ("Date", Self.date)]) == nil)
        #expect(restarted([("Last-Modified", Self.old)]) == nil)
        #expect(restarted([("Last-Modified", "yesterday"), ("Date", Self.date)]) == nil)
        let dated = try #require(restarted([("Last-Modified", Self.old), ("Date", Self.date), ("ETag", "W/\"v\"")]))
        #expect(dated.tag == nil && dated.validator == Self.old)
        let both = try #require(restarted([("Last-Modified", Self.old), ("Date", Self.date), ("ETag", "\"v\"")]))
        #expect(both.lastModified == nil && both.validator == "\"v\"")
    }

    @Test func whatCannotBeGoneOnWithHasNoRecord() {
        #expect(restarted([("ETag", "\"v\""), ("Accept-Ranges", "none")]) == nil)
        #expect(restarted([("ETag", "\"v\""), ("Accept-Ranges", "bytes")]) != nil)
        #expect(restarted([("ETag", "\"v\""), ("Content-Encoding", "gzip")]) == nil)
        #expect(restarted([("ETag", "\"v\""), ("Content-Type", "multipart/byteranges")]) == nil)
    }

    // MARK: 416 and the rest

    @Test func nothingIsLeft() {
        let unsized = Self.record(total: nil)
        let tag = ("ETag", "\"v1\"")
        #expect(decide(416, [("Content-Range", "bytes */400"), tag], unsized) == .complete)
        #expect(decide(416, [("Content-Range", "bytes */400")], unsized) == .again(.nothingLeft), "of which version?")
        #expect(decide(416, [("Content-Range", "bytes */400"), ("ETag", "\"v2\"")], unsized) == .again(.nothingLeft))
        #expect(decide(416, [("Content-Range", "bytes */400"), ("ETag", "W/\"v1\"")], unsized) == .again(.nothingLeft))
        #expect(decide(416, [("Content-Range", "bytes */399"), tag], unsized) == .again(.nothingLeft))
        #expect(decide(416, [("Content-Range", "bytes 0-3/400"), tag], unsized) == .again(.nothingLeft))
        #expect(decide(416, [tag], unsized) == .again(.nothingLeft))
        #expect(decide(416, [("Content-Range", "bytes */400"), tag], unsized, from: "http://b.test/") == .again(.nothingLeft))
        // The first response said that there is more.
        #expect(decide(416, [("Content-Range", "bytes */400"), tag]) == .again(.nothingLeft))
        #expect(decide(416, [("Content-Range", "bytes */400"), tag], Self.record(total: 400)) == .complete)
        let dated = Self.record(tag: nil, lastModified: Self.old, total: nil)
        #expect(decide(416, [("Content-Range", "bytes */400"), ("Last-Modified", Self.old)], dated) == .complete)
        #expect(decide(416, [("Content-Range", "bytes */400")], dated) == .again(.nothingLeft))
        #expect(decide(416, [], nil) == .other(isGone: false))
    }

    @Test func whatIsNotTheFile() {
        for status in [204, 301, 400, 401, 403, 412, 429, 500, 503] {
            #expect(decide(status, []) == .other(isGone: false), "\(status)")
        }
        #expect(decide(404, []) == .other(isGone: true))
        #expect(decide(410, [], nil) == .other(isGone: true))
    }

    // MARK: The head of the whole

    @Test func theWholeLooksAsIfItHadComeAtOnce() {
        var record = Self.record(tag: nil, lastModified: Self.old)
        record.contentType = "a/b"
        let whole = record.wholeHead(Self.head(206, [("Content-Range", "bytes 4-9/10"), ("Content-Length", "6"), ("X", "y")]), length: 10)
        #expect(whole.status == 200)
        #expect(whole.fields[.contentLength] == "10")
        #expect(!whole.fields.contains(.contentRange))
        #expect(whole.fields[.contentType] == "a/b")
        #expect(whole.fields[.lastModified] == Self.old)
        let own = record.wholeHead(Self.head(206, [("Content-Type", "c/d"), ("Last-Modified", Self.date)]), length: 10)
        #expect(own.fields[.contentType] == "c/d" && own.fields[.lastModified] == Self.date)
    }
}
