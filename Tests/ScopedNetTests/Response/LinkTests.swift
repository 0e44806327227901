import CleanSlate
import HTTPTypes
import ScopedNet
import Testing

/// Typed links of `Link` fields (RFC 8288 section 3, CT-7).
@Suite(.leavesNothing) struct LinkTests {
    private func links(_ values: String...) throws -> [ResponseHead.Link] {
        var fields = HTTPFields()
        let name = try #require(HTTPField.Name("Link"))
        for value in values { fields.append(HTTPField(name: name, value: value)) }
        return ResponseHead(status: 200, headers: fields).links
    }

    @Test func targetsAndRelationsAreRead() throws {
        let found = try links(#"<https://a.test/?page=2>; rel="next", <https://a.test/?page=9>; rel=last; title="the end""#)
        #expect(found.map(\.target) == ["https://a.test/?page=2", "https://a.test/?page=9"])
        #expect(found.map(\.relations) == [["next"], ["last"]])
        #expect(found.last?.parameters == ["title": "the end"])
    }

    @Test func commasAndSemicolonsInQuotesAndTargetsBelongToThem() throws {
        let found = try links(#"<a,b;c>; title="x, y; z \" <q>"; rel="prev NEXT""#, "<c>;REL=next;rel=prev")
        #expect(found.map(\.target) == ["a,b;c", "c"])
        #expect(found.map(\.relations) == [["prev", "next"], ["next"]])
        #expect(found.first?.parameters["title"] == #"x, y; z " <q>"#)
    }

    @Test(arguments: ["", "next", "<", "<a", "a>; rel=next", ";;;", "\"<"]) func whatIsMalformedIsPassedOver(text: String) throws {
        #expect(try links(text).isEmpty)
    }

    @Test func aFieldIsFoundInAnyCase() throws {
        let name = try #require(HTTPField.Name("X-Page-Count"))
        let head = ResponseHead(status: 200, headers: [name: "7"])
        #expect(head["X-Page-Count"] == "7" && head["x-page-count"] == "7" && head["X-PAGE-COUNT"] == "7" && head["X-Page"] == nil)
    }

    @Test func aLinkIsFoundByItsRelation() throws {
        let name = try #require(HTTPField.Name("Link"))
        let head = ResponseHead(status: 200, headers: [name: "<>; rel=self, </2>; rel=\"start Next\"; x"])
        #expect(head.link("NEXT") == "/2" && head.link("self") == "" && head.link("last") == nil)
        #expect(ResponseHead(status: 200).link("next") == nil)
    }
}
