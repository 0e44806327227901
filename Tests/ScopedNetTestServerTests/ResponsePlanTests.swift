import CleanSlate
import Testing

@testable import ScopedNetTestServer

/// What a script comes to for one request: statuses, framing and ranges, decided before the first byte.
@Suite(.leavesNothing) struct ResponsePlanTests {
    private func plan(
        _ response: ScriptedResponse, of count: Int? = 10, _ change: (inout ResponsePlan.Request) -> Void = { _ in }
    ) -> ResponsePlan {
        var request = ResponsePlan.Request.plainGet
        change(&request)
        return ResponsePlan(response, body: OpenedBody(count: count), request: request)
    }

    private func head(_ plan: ResponsePlan) throws -> ResponseHead {
        for case .head(let head) in plan.steps { return head }
        throw CancellationError()
    }

    private let body = ScriptedResponse.ok("0123456789")

    // MARK: Framing

    @Test func aKnownLengthIsToldAndTheConnectionKept() throws {
        let plan = plan(body)
        let head = try head(plan)
        #expect(head.headers["Content-Length"] == "10" && head.headers["Connection"] == nil)
        #expect(plan.keepsConnection && !plan.isChunked)
    }

    @Test func anUnknownLengthIsChunkedAndTrailersTooAreWhereTheyCan() throws {
        for script in [body, body.framed(.chunked)] {
            let plan = plan(script, of: nil)
            #expect(try head(plan).headers["Transfer-Encoding"] == "chunked")
            #expect(plan.isChunked && plan.keepsConnection)
        }
        let trailing = plan(body.with { $0.trailers = ["X-Sum": "1"] })
        #expect(trailing.isChunked)
        #expect(trailing.steps.last == .finish(["X-Sum": "1"]))
    }

    @Test func aClientOfOldReadsUntilTheEnd() throws {
        let plan = plan(body, of: nil) { $0.version = .http10 }
        let head = try head(plan)
        #expect(head.headers["Transfer-Encoding"] == nil && head.headers["Connection"] == "close")
        #expect(!plan.isChunked && !plan.keepsConnection)
        let kept = try self.head(self.plan(body) { $0.version = .http10 })
        #expect(kept.headers["Connection"] == "keep-alive")
    }

    @Test func untilCloseAndHTTP2() throws {
        let closing = plan(body.framed(.untilClose))
        #expect(try head(closing).headers["Connection"] == "close")
        #expect(!closing.keepsConnection)
        let stream = plan(body.framed(.untilClose)) { $0.version = .http2 }
        #expect(try head(stream).headers["Connection"] == nil)
        #expect(stream.keepsConnection && !stream.isChunked)
    }

    @Test func aLengthMayBeALie() throws {
        #expect(try head(plan(body.framed(.declaredLength(99)))).headers["Content-Length"] == "99")
        // What the script spells out is left alone.
        let own = try head(plan(body.header("Content-Length", "3")))
        #expect(own.headers[all: "Content-Length"] == ["3"])
        let chunked = try head(plan(body.header("Transfer-Encoding", "identity")))
        #expect(chunked.headers["Content-Length"] == nil)
        let connection = try head(plan(body.header("Connection", "upgrade").ending(.close)))
        #expect(connection.headers[all: "Connection"] == ["upgrade"])
    }

    // MARK: Without a payload

    @Test(arguments: [("HEAD", 200), ("GET", 204), ("GET", 304), ("GET", 103)]) func theseHaveNoPayload(method: String, status: Int) throws
    {
        let plan = plan(body.with { $0.status = status }) { $0.method = method }
        let payload = plan.steps.filter { if case .body = $0 { true } else { false } }
        #expect(payload.isEmpty)
        #expect(plan.steps.last == .finish([:]))
        let length = try head(plan).headers["Content-Length"]
        #expect((length != nil) == (status == 200 || status == 304))
    }

    @Test func anEmptyPayloadIsStalledAndCutToo() {
        let steps = plan(body.stalling(.afterHead).ending(.reset(afterBytes: 5))) { $0.method = "HEAD" }.steps
        #expect(steps.suffix(2) == [.stall, .cut(.reset)])
        let later = plan(body.stalling(.afterBytes(1))) { $0.method = "HEAD" }.steps
        #expect(!later.contains(.stall))
    }

    // MARK: Ranges and conditions

    private var ranged: ScriptedResponse { body.header("ETag", "\"a\"").header("Last-Modified", "then").with { $0.acceptsRanges = true } }

    @Test func aRangeIsAnsweredWithItsPart() throws {
        let plan = plan(ranged) { $0.range = "bytes=2-4" }
        let head = try head(plan)
        #expect(head.status == 206 && head.headers["Content-Range"] == "bytes 2-4/10" && head.headers["Content-Length"] == "3")
        #expect(head.headers["Accept-Ranges"] == "bytes")
        #expect(plan.bodyRange == 2..<5)
    }

    @Test func aRangeBehindTheEndCannotBeHad() throws {
        let plan = plan(ranged) { $0.range = "bytes=10-" }
        let head = try head(plan)
        #expect(head.status == 416 && head.headers["Content-Range"] == "bytes */10" && head.headers["Content-Length"] == "0")
        #expect(plan.bodyRange == 0..<0)
    }

    @Test func theWholeIsSentWhereARangeDoesNotCount() throws {
        // Another method, another version, no ranges, another status, a range that is none.
        let plans = [
            plan(ranged) {
                $0.range = "bytes=2-4"; $0.method = "POST"
            },
            plan(ranged) {
                $0.range = "bytes=2-4"; $0.ifRange = "\"b\""
            },
            plan(body) { $0.range = "bytes=2-4" },
            plan(ranged.with { $0.status = 201 }) { $0.range = "bytes=2-4" },
            plan(ranged) { $0.range = "lines=2-4" },
        ]
        for plan in plans {
            #expect(plan.bodyRange == nil)
            #expect(try head(plan).headers["Content-Length"] == "10")
        }
    }

    @Test(arguments: ["\"a\"", "then"]) func aRangeOfTheKnownVersionCounts(validator: String) {
        let plan = plan(ranged) {
            $0.range = "bytes=0-0"; $0.ifRange = validator
        }
        #expect(plan.bodyRange == 0..<1)
    }

    @Test func conditionsAreAnsweredFirst() throws {
        #expect(try head(plan(ranged) { $0.ifNoneMatch = "\"a\"" }).status == 304)
        #expect(try head(plan(ranged) { $0.ifNoneMatch = "\"b\"" }).status == 200)
        #expect(try head(plan(ranged) { $0.ifMatch = "\"a\"" }).status == 200)
        let failed = plan(ranged) {
            $0.ifMatch = "\"b\""; $0.range = "bytes=2-4"
        }
        #expect(try head(failed).status == 412)
        #expect(failed.bodyRange == 0..<0)
    }

    @Test func aMissingFileIsNotFoundAndAFileBringsItsFields() throws {
        let missing = ResponsePlan(.file("/nowhere"), body: OpenedBody(file: nil), request: .plainGet)
        #expect(try head(missing).status == 404)
        #expect(try head(missing).headers["Content-Length"] == "0")
        var opened = OpenedBody(count: 4)
        (opened.isFile, opened.entityTag, opened.lastModified) = (true, "\"f\"", "once")
        let found = try head(ResponsePlan(.file("/here"), body: opened, request: .plainGet))
        #expect(found.headers["ETag"] == "\"f\"" && found.headers["Last-Modified"] == "once" && found.headers["Accept-Ranges"] == "bytes")
        // The script's own come first.
        let own = try head(ResponsePlan(.file("/here").header("ETag", "\"own\""), body: opened, request: .plainGet))
        #expect(own.headers[all: "ETag"] == ["\"own\""])
    }

    // MARK: The connection

    @Test func aConnectionIsKeptOnlyIfBothWantIt() {
        #expect(!plan(body) { $0.keepsAlive = false }.keepsConnection)
        #expect(!plan(body.ending(.close)).keepsConnection)
        #expect(!plan(body.with { $0.requestBody = .leaveUnread }).keepsConnection)
        #expect(plan(body.with { $0.requestBody = .receiveWhileAnswering }).keepsConnection)
    }

    @Test func rawBytesHaveNoHead() {
        let raw = plan(.raw("hello").stalling(.beforeHead))
        #expect(raw.steps == [.stall, .body(nil), .finish([:])])
        #expect(!raw.keepsConnection)
        #expect(plan(.raw("hello")) { $0.version = .http2 }.steps == [.cut(.close)])
        #expect(plan(.raw("hello").ending(.hangUp)).steps == [.cut(.close)])
    }

    @Test func interimHeadsComeBeforeAnyWait() {
        let script = body.delayed(by: .seconds(1)).stalling(.beforeHead).with {
            $0.interimHeads = [.init(status: 103, headers: ["A": "b"])]
        }
        let steps = plan(script).steps
        let interim = ResponseStep.interimHead(ResponseHead(status: 103, reason: nil, headers: ["A": "b"]))
        #expect(steps.prefix(3) == [interim, .pause(.seconds(1)), .stall])
    }
}
