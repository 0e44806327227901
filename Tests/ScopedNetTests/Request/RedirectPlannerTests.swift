import CleanSlate
import Foundation
import HTTPTypes
import Testing

@_spi(Transport) @testable import ScopedNet

@Suite(.leavesNothing)
struct RedirectPlannerTests {
    private let fields: HTTPFields = [.authorization: "Basic eA==", .accept: "text/plain", .cookie: "a=1", .contentType: "text/x"]

    private func planner(
        _ url: String = "https://h.test/a", _ method: HTTPRequest.Method = .get, body: RequestBody? = nil,
        visits: [RedirectPolicy.Context.Visit] = [], _ change: (inout RequestOptions) -> Void = { _ in }
    ) throws -> RedirectPlanner {
        var options = RequestOptions()
        change(&options)
        let exchange = TransferRequest(
            url: try RequestURL(url), method: method, headers: try HeaderLayers.block(fields, method: method, body: body), body: body,
            options: TransferOptions())
        return RedirectPlanner(options, exchange, own: fields, visits: visits, runID: 7)
    }

    private func step(
        _ planner: RedirectPlanner, _ status: Int, to location: String, isBodyReplayable: Bool = true
    ) -> RedirectPlanner.Step {
        planner.step(ResponseHead(status: status, headers: [.location: location]), isBodyReplayable: isBodyReplayable) { $0 }
    }

    private func hop(_ step: RedirectPlanner.Step) throws -> RedirectPlanner.Hop {
        guard case .follow(let hop) = step else { throw TestIssue(text: "\(step)") }
        return hop
    }

    private struct TestIssue: Error { let text: String }

    @Test("to the same origin all fields go along, and the fragment stays")
    func sameOrigin() throws {
        let hop = try hop(step(try planner(), 302, to: "/b"))
        #expect(hop.target.string == "https://h.test/b" && hop.proposed.method == .get && hop.proposed.body == nil)
        #expect(hop.proposed.fields[.authorization] != nil && hop.proposed.fields[.accept] == "text/plain")
        #expect(hop.visit.url == "https://h.test/a" && hop.visit.method == .get)
    }

    @Test("to another origin credentials and cookies stay behind")
    func otherOrigin() throws {
        let hop = try hop(step(try planner(), 302, to: "https://other.test/"))
        #expect(hop.proposed.fields[.authorization] == nil && hop.proposed.fields[.cookie] == nil)
        #expect(hop.proposed.fields[.accept] == "text/plain")
    }

    @Test("a 303 becomes a GET without the body and its fields, a 307 keeps both", arguments: [303, 307])
    func bodies(_ status: Int) throws {
        let body = RequestBody.data(Data("x".utf8), contentType: "text/x")
        let hop = try hop(step(try planner("https://h.test/a", .post, body: body), status, to: "/b"))
        #expect((hop.proposed.body != nil) == (status == 307) && hop.proposed.method == (status == 307 ? .post : .get))
        #expect((hop.proposed.fields[.contentType] != nil) == (status == 307))
    }

    @Test("a body that can be read once is a reason to refuse")
    func unreplayable() throws {
        let body = RequestBody.data(Data("x".utf8), contentType: "text/x")
        guard case .fail(let error) = step(try planner("https://h.test/a", .post, body: body), 307, to: "/b", isBodyReplayable: false)
        else {
            throw TestIssue(text: "followed")
        }
        #expect(error.code == .bodyNotReplayable && error.runID == 7)
    }

    @Test(
        "refusals have a code of their own",
        arguments: [
            ("ftp://h.test/", NetworkError.Code.redirectRefused), ("http://h.test/", .redirectRefused), ("https://h.test/a", .redirectLoop),
        ])
    func refusals(_ location: String, _ code: NetworkError.Code) throws {
        guard case .fail(let error) = step(try planner(), 302, to: location) else { throw TestIssue(text: "followed \(location)") }
        #expect(error.code == code)
    }

    @Test(
        "other schemes are not followed",
        arguments: ["ftp://127.0.0.1/x", "file:///etc/passwd", "javascript:alert(1)", "data:text/plain,x"])
    func otherSchemes(_ location: String) throws {
        guard case .fail(let error) = step(try planner(), 302, to: location) else { throw TestIssue(text: "followed \(location)") }
        #expect([.redirectRefused, .badResponse].contains(error.code))
    }

    @Test("too many are too many")
    func tooMany() throws {
        let visits = (0..<3).map { RedirectPolicy.Context.Visit(method: .get, url: "https://h.test/\($0)") }
        let planner = try planner(visits: visits) { $0.redirects.maxRedirects = 3 }
        guard case .fail(let error) = step(planner, 302, to: "/b") else { throw TestIssue(text: "followed") }
        #expect(error.code == .tooManyRedirects)
    }

    @Test("the mode decides which responses lead on at all")
    func modes() throws {
        let url = try RequestURL("https://h.test/a")
        func leads(_ status: Int, _ location: String?, _ mode: RedirectPolicy.Mode) -> Bool {
            let head = ResponseHead(status: status, headers: location.map { [.location: $0] } ?? [:])
            return RedirectPlanner.isFollowed(head, from: url, mode)
        }
        #expect(leads(301, "/b", .follow) && leads(308, "https://other.test/", .follow))
        #expect(!leads(301, "/b", .never) && !leads(304, "/b", .follow) && !leads(302, nil, .follow))
        #expect(leads(302, "/b", .sameOriginOnly) && !leads(302, "https://other.test/", .sameOriginOnly))
        for status in 300...309 { #expect(leads(status, "/b", .follow) == [301, 302, 303, 307, 308].contains(status)) }
        // One that is no URL is refused, and so it leads on; one that a browser would take is a URL.
        #expect(leads(302, "http://[", .sameOriginOnly) && !leads(302, "https://other.test/a b", .sameOriginOnly))
    }

    @Test("another body brings its own type and coding, and its length is not known yet")
    func otherBodies() throws {
        func exchange(_ body: RequestBody?) throws -> NextExchange {
            let fields: HTTPFields = [.contentLength: "9", .contentType: "text/x", .contentEncoding: "gzip"]
            return NextExchange(url: try RequestURL("https://h.test/a"), method: .post, fields: fields, body: body)
        }
        let plain = RequestBody.data(Data(repeating: 7, count: 10_000), contentType: "text/y")
        var next = try exchange(nil)
        next.replaceBody(.new(plain))
        #expect(next.body != nil && next.fields[.contentLength] == nil && next.fields[.contentType] == "text/y")
        #expect(next.fields[.contentEncoding] == "gzip")
        next = try exchange(plain.compressed())
        next.replaceBody(.new(plain))
        #expect(next.fields[.contentEncoding] == nil)
        next = try exchange(nil)
        next.fields[.contentEncoding] = nil
        next.replaceBody(.new(plain.compressed()))
        #expect(next.fields[.contentEncoding] == "gzip")
        next = try exchange(nil)
        next.replaceBody(.new(.data(Data("x".utf8))))
        #expect(next.fields[.contentType] == "text/x")
    }

    @Test("the program's change is reviewed by the same rules")
    func reviews() throws {
        let planner = try planner()
        let hop = try hop(step(planner, 302, to: "/b"))
        let proposal = planner.proposal(hop, isStored: false, hidesCookies: true)
        #expect(proposal.number == 1 && proposal.request.headers[.cookie] == nil && proposal.proposed.url == "https://h.test/b")
        var next = proposal.proposed
        next.url = "https://h.test/c"
        let changed = try planner.reviewed(next, proposal.proposed, hop)
        #expect(changed.url.string == "https://h.test/c" && changed.body == nil)
        next.url = "http://h.test/c"
        #expect(throws: NetworkError.self) { _ = try planner.reviewed(next, proposal.proposed, hop) }
    }
}
