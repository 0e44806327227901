import CleanSlate
import Foundation
import HTTPTypes
import Testing

@testable import ScopedNet

/// What is written beside the target, and under which name (YTK-12; known defect 33: records of one path for several files).
@Suite(.leavesNothing) struct PartRecordTests {
    private var record: PartRecord { ResumeDecisionTests.record() }

    @Test func itComesBackAsItWas() throws {
        var full = record
        full.fields = ["accept": "a/b"]
        full.contentType = "text/plain"
        let data = try #require(full.encoded())
        #expect(PartRecord(data) == full)
        let dated = ResumeDecisionTests.record(tag: nil, lastModified: ResumeDecisionTests.old, total: nil)
        let datedData = try #require(dated.encoded())
        #expect(PartRecord(datedData) == dated)
    }

    /// A crash in the middle of a write, and anything else: no beginning of a record is one.
    @Test func aPieceOfARecordIsNone() throws {
        let data = try #require(record.encoded())
        for count in 0..<data.count { #expect(PartRecord(data.prefix(count)) == nil, "\(count) bytes") }
        #expect(PartRecord(Data(repeating: 0, count: 100)) == nil)
        #expect(PartRecord(data + Data(repeating: 0x20, count: PartRecord.mostBytes)) == nil)
    }

    /// What stands in it goes into a header field, and the name into a path.
    @Test func whatCouldNotHaveBeenWrittenIsNoRecord() throws {
        func isTaken(_ change: (inout PartRecord) -> Void) throws -> Bool {
            var changed = record
            change(&changed)
            return try PartRecord(#require(changed.encoded())) != nil
        }
        #expect(try isTaken { _ in })
        #expect(try !isTaken { $0.name = "a\0b" })
        #expect(try !isTaken { $0.version = 2 })
        #expect(try !isTaken { $0.total = -1 })
        #expect(try !isTaken { $0.synchronized = -1 })
        #expect(try isTaken { $0.synchronized = 0 })
        #expect(try !isTaken { $0.tag = nil })
        #expect(try !isTaken { $0.tag = "W/\"v\"" })
        #expect(try !isTaken { $0.tag = "\"v\"\r\nX: y" })
        #expect(try !isTaken { $0.lastModified = ResumeDecisionTests.old })
        #expect(
            try !isTaken {
                $0.tag = nil; $0.lastModified = "now\r\nX: y"
            })
        #expect(try !isTaken { $0.name = "../x" })
        #expect(try !isTaken { $0.name = "" })
    }

    @Test func theFileIsBelievedAsLongAsTheMachineRuns() {
        var record = record
        #expect(record.knownBytes(size: 700, boot: nil) == 0)
        #expect(record.knownBytes(size: 700, boot: "now") == 0)
        record.synchronized = 400
        #expect(record.knownBytes(size: 700, boot: nil) == 400)
        record.boot = "now"
        #expect(record.knownBytes(size: 700, boot: "now") == 700)
        #expect(record.knownBytes(size: 700, boot: "later") == 400)
        #expect(record.knownBytes(size: 300, boot: "later") == 300)
        #expect(record.knownBytes(size: 700, boot: nil) == 400)
    }

    @Test func aVersionIsTheSameHoweverMuchThereIs() {
        var more = record
        more.synchronized = 5
        more.boot = "b"
        #expect(more.isOfSameVersion(as: record) && record.isOfSameVersion(as: more))
        more.tag = "\"v2\""
        #expect(!more.isOfSameVersion(as: record) && !record.isOfSameVersion(as: more))
    }

    @Test func theSameRequestForTheSameFile() {
        #expect(record.isOf(record))
        let changes: [(inout PartRecord) -> Void] = [{ $0.url += "x" }, { $0.name = "other" }, { $0.fields = ["accept": "a/b"] }]
        for change in changes {
            var other = record
            change(&other)
            #expect(!record.isOf(other))
        }
        // Who asks, and how the server answers, is for the validator.
        var answered = record
        answered.tag = nil
        answered.finalURL = "http://b.test/"
        #expect(record.isOf(answered))
        #expect(
            PartRecord.choosingFields([.accept: "a/b", .acceptLanguage: "de", .authorization: "x", .cookie: "y", .userAgent: "z"])
                == ["accept": "a/b", "accept-language": "de"])
    }

    @Test func names() throws {
        let names = try #require(PartNames(target: "/a/b.zip"))
        #expect(names.part == "/a/b.zip.scopednet-part" && names.record == "/a/b.zip.scopednet-resume")
        #expect(names.folder == "/a/" && names.name == "b.zip" && names.target == "/a/b.zip")
        #expect(PartNames(target: "b")?.part == "b.scopednet-part")
        #expect(PartNames.found("b.zip.scopednet-part", in: "/a/")?.part == names.part)
        #expect(PartNames.found("b.zip.scopednet-resume", in: "/a/")?.record == names.record)
        for other in ["b.zip", "scopednet-part", ".scopednet-part", "b.scopednet-party"] { #expect(PartNames.found(other, in: "/") == nil) }
        for path in ["", "/", "/a/", ".", "..", "/a/.."] { #expect(PartNames(target: path) == nil, "\(path)") }
    }

    /// Long names are cut where the suffix would not fit, and still are names of their own.
    @Test(arguments: ["n", "é", "漢", "😀"]) func longNames(_ letter: String) throws {
        let long = String(repeating: letter, count: 254 / letter.utf8.count)
        let (one, two) = try (#require(PartNames(target: "/a/" + long + "1")), #require(PartNames(target: "/a/" + long + "2")))
        for names in [one, two] {
            let longest = [names.part, names.record].map { $0.utf8.count - 3 }.max() ?? 0
            #expect(longest <= 255)
        }
        #expect(one.part != two.part && one.record != two.record)
        #expect(PartNames(target: "/a/" + long + "1")?.part == one.part)
    }
}
