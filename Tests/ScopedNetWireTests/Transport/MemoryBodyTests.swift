import CleanSlate
import Foundation
import ScopedNetTestServer
import Testing

@testable import ScopedNet

@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1)))
struct MemoryBodyTests {
    @Test(arguments: [0, 1, 1_000, 16_384, 65_537, 3_000_000], [ScriptedResponse.Framing.contentLength, .chunked, .untilClose])
    func everySizeArrivesInEveryFraming(_ size: Int, _ framing: ScriptedResponse.Framing) async throws {
        let body = bytes(size)
        try await withWire { wire async throws in
            wire.server.on("/", .ok(.bytes(Array(body))).framed(framing))
            let response = try await wire.send()
            #expect(response.body.isSame(as: body))
            #expect(response.metrics.bodyBytesReceived == size)
        }
    }

    @Test(arguments: [ScriptedResponse.Framing.contentLength, .chunked, .untilClose])
    func theLimitIsInclusive(_ framing: ScriptedResponse.Framing) async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok(.bytes(Array(bytes(100_000)))).framed(framing))
            let response = try await wire.get { $0.limits.bodyBytes = 100_000 }.response()
            #expect(response.body.isSame(as: bytes(100_000)))
            let error = try await wire.get { $0.limits.bodyBytes = 99_999 }.failure()
            #expect(error.code == .bodyTooLarge)
            #expect(error.phase == .receiving)
            #expect(error.response?.status == 200)
        }
    }

    /// A length that says so already needs no reading.
    @Test func aDeclaredLengthBeyondTheLimitEndsItAtOnce() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok(.repeating(7, count: 1 << 30)))
            let error = try await wire.get { $0.limits.bodyBytes = 100 << 20 }.failure()
            #expect(error.code == .bodyTooLarge)
            let request = try await wire.server.takeRequest()
            #expect(try await request.ending() == .clientClosed)
            #expect(request.bodyBytesSent < 64 << 20)
        }
    }

    /// The word of a header reserves no memory that does not come.
    @Test func aHugeDeclaredLengthReservesLittle() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok("x").framed(.declaredLength(1 << 50)).ending(.close))
            let error = try await wire.get { $0.limits.bodyBytes = .max }.failure()
            #expect(error.code == .truncatedBody)
        }
    }

    /// Who asks for the head alone keeps no body, and no limit on kept bytes stands in the way.
    @Test func theHeadAloneKeepsNoBody() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok(.repeating(7, count: 3 << 20)))
            for _ in 0..<2 {
                let response = try await wire.session.request(wire.url + "/", decoder: .head).options { $0.limits.bodyBytes = 1_000 }
                    .response()
                #expect(response.value.status == 200)
                #expect(response.body.isEmpty)
                #expect(response.metrics.bodyBytesReceived == 3 << 20)
            }
            // Read to its end, so the connection was used again.
            #expect(wire.server.connectionsAccepted == 1)
        }
    }

    // YTK-6
    @Test func anErrorPageIsKeptUpToItsBound() async throws {
        try await withWire {
            $0.errorBodyBytes = 1_000
        } _: { wire async throws in
            wire.server.on("/", .ok(.bytes(Array(bytes(50_000)))).with { $0.status = 500 })
            let error = try await wire.get().failure()
            #expect(error.code == .unacceptableStatus)
            #expect(error.body.isSame(as: bytes(50_000).prefix(1_000)))
            // It was read to its end, so the connection is of use.
            _ = try await wire.get().failure()
            #expect(wire.server.connectionsAccepted == 1)
        }
    }

    /// YTK-6: a transfer that broke is the error, whatever the status; the head and what came of the page are in it.
    @Test(arguments: [ScriptedResponse.Framing.contentLength, .chunked])
    func anErrorPageThatIsCutShortIsATransportError(_ framing: ScriptedResponse.Framing) async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok("not found").with { $0.status = 404 }.framed(framing).ending(.truncate(afterBytes: 4)))
            let error = try await wire.get().failure()
            #expect(error.code == .truncatedBody && error.phase == .receiving)
            #expect(error.response?.status == 404)
            #expect(error.body == Data("not ".utf8))
            #expect(wire.server.requests.count == 1)
        }
    }

    /// YTK-6: of several mistakes the first of transport, status, coding and decoding.
    @Test(arguments: [
        (404, true, true, NetworkError.Code.truncatedBody), (200, true, true, .truncatedBody), (404, false, true, .unacceptableStatus),
        (404, false, false, .unacceptableStatus), (200, false, true, .contentDecodingFailed), (200, false, false, .decodingFailed),
    ])
    func ofSeveralMistakesTheFirstCounts(_ status: Int, _ isCut: Bool, _ isCoded: Bool, _ code: NetworkError.Code) async throws {
        try await withWire { wire async throws in
            var response = ScriptedResponse.ok("neither gzip nor JSON").with { $0.status = status }
            if isCoded { response = response.header("Content-Encoding", "gzip") }
            if isCut { response = response.ending(.truncate(afterBytes: 4)) }
            wire.server.on("/", response)
            let request = wire.session.request(wire.url + "/", decoder: .json([Int].self)).options { $0.validation.contentTypes = .any }
            let error = try await request.failure()
            #expect(error.code == code)
            #expect(error.response?.status == status)
        }
    }

    /// A status the caller accepts is a success, and a success is whole.
    @Test(arguments: [300, 304, 305, 399])
    func acceptedStatusesOfTheRedirectClassAreWhole(_ status: Int) async throws {
        let body = status == 304 ? Data() : bytes(200_000)
        try await withWire { wire async throws in
            wire.server.on("/", ScriptedResponse(status: status, headers: ["Location": "/elsewhere"], body: .bytes(Array(body))))
            let response = try await wire.get { $0.validation = .any }.response()
            #expect(response.status == status)
            #expect(response.body.isSame(as: body))
        }
    }

    @Test func aRedirectThatIsNotFollowedIsWhole() async throws {
        try await withWire { wire async throws in
            wire.server.on(
                "/", ScriptedResponse(status: 302, headers: ["Location": "http://elsewhere.test/"], body: .bytes(Array(bytes(200_000)))))
            let response = try await wire.get { options in
                options.validation = .any
                options.redirects.mode = .sameOriginOnly
            }.response()
            #expect(response.body.isSame(as: bytes(200_000)))
        }
    }

    @Test func trailersAndInterimHeadsDoNoHarm() async throws {
        try await withWire { wire async throws in
            wire.server.on(
                "/",
                .ok("hello").framed(.chunked).with {
                    $0.trailers = ["X-Sum": "5"]
                    $0.interimHeads = [.init(status: 103, headers: ["Link": "</s.css>"]), .init(status: 102)]
                })
            let response = try await wire.send()
            #expect(response.status == 200)
            #expect(response.head["link"] == nil)
            #expect(response.body == Data("hello".utf8))
        }
    }
}
