import CleanSlate
import Testing

@testable import ScopedNetTestServer

@Suite(.leavesNothing) struct PureTypesTests {
    @Test func targetsComeApart() {
        #expect(RequestTarget("/a/b?c=d?e").path == "/a/b")
        #expect(RequestTarget("/a/b?c=d?e").query == "c=d?e")
        #expect(RequestTarget("http://host:1").path == "/")
        #expect(RequestTarget("http://host:1?x").originForm == "/?x")
        #expect(RequestTarget("/go?to=http://host/").authority == nil)
        #expect(RequestTarget("*").path == "*")
    }

    @Test func routesComeFromTargets() {
        #expect(ProxyRoute(method: "CONNECT", target: "[::1]:443")?.host == "::1")
        #expect(ProxyRoute(method: "CONNECT", target: "host") == nil)
        #expect(ProxyRoute(method: "CONNECT", target: "host:99999") == nil)
        #expect(ProxyRoute(method: "GET", target: "http://host/x")?.port == 80)
        #expect(ProxyRoute(method: "GET", target: "/x") == nil)
    }

    @Test func stallAndCutStandWhereTheyFall() {
        func steps(_ response: ScriptedResponse) -> [ResponseStep] {
            ResponsePlan(response, body: OpenedBody(count: 10), request: .plainGet).steps.filter {
                if case .head = $0 { false } else { true }
            }
        }
        let body = ScriptedResponse.ok("0123456789")
        #expect(steps(body) == [.body(nil), .finish([:])])
        #expect(steps(body.stalling(.afterHead)) == [.stall, .body(nil), .finish([:])])
        #expect(steps(body.stalling(.afterBytes(3))) == [.body(3), .stall, .body(nil), .finish([:])])
        #expect(steps(body.stalling(.afterBytes(3)).ending(.reset(afterBytes: 3))) == [.body(3), .stall, .cut(.reset)])
        #expect(steps(body.stalling(.afterBytes(9)).ending(.truncate(afterBytes: 3))) == [.body(3), .cut(.close)])
        #expect(steps(body.ending(.closeWithoutNotify(afterBytes: 3))) == [.body(3), .cut(.closeWithoutNotify)])
        #expect(steps(body.delayed(by: .seconds(1)).ending(.hangUp)) == [.pause(.seconds(1)), .cut(.close)])
    }

    @Test func datesAreWrittenAsHTTPWants() {
        #expect(httpDate(784_111_777) == "Sun, 06 Nov 1994 08:49:37 GMT")
    }

    @Test func namesAreComparedWithoutCase() {
        let headers: HeaderList = ["Set-Cookie": "a", "set-cookie": "b"]
        #expect(headers["SET-COOKIE"] == "a")
        #expect(headers[all: "set-cookie"] == ["a", "b"])
        #expect(headers["cookie"] == nil)
    }
}
