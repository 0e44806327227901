import CleanSlate
import Foundation
import HTTPTypes
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// MP-10: a body that can be read once is replaced by another where it has to be sent again.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1)))
struct NewBodyHookTests {
    private func once(_ text: String) -> RequestBody {
        .stream(
            AsyncStream { continuation in
                continuation.yield(Data(text.utf8))
                continuation.finish()
            }, length: Int64(text.utf8.count))
    }

    @Test(arguments: FrontDoor.allCases)
    func aRedirectGetsTheNewBody(door: FrontDoor) async throws {
        try await withWire { wire async throws in
            wire.server.on("/old", .redirect(to: "/new", status: 307))
            wire.server.on("/new", .ok("there"))
            let asked = Gathered<RequestHooks.BodyReplayRequest>()
            let request = wire.session.request(wire.url + "/old", method: .put, body: once("first"))
            _ = request.provideBody { replay in
                asked.add(replay)
                return once("another")
            }
            let report = try await door.send(request)
            #expect(report.outcome == .success("there"))
            #expect(asked.all.map(\.reason) == [.redirect])
            #expect(asked.all.first?.url == wire.url + "/new")
            #expect(asked.all.first?.method == .put)
            #expect(wire.server.requests.map(\.text) == ["first", "another"])
            #expect(wire.server.requests[1]["content-length"] == "7")
        }
    }

    @Test(arguments: FrontDoor.allCases)
    func aRetryGetsTheNewBody(door: FrontDoor) async throws {
        try await withWire { wire async throws in
            wire.server.enqueue(.status(503))
            wire.server.enqueue(.status(503))
            wire.server.on("/", .ok("there"))
            let asked = Gathered<RequestHooks.BodyReplayRequest.Reason>()
            let request = wire.session.request(wire.url + "/", method: .put, body: once("1"))
            _ = request.options { $0.retry = RetryPolicy(maxAttempts: 3, backoffBase: .milliseconds(1)) }.provideBody { replay in
                asked.add(replay.reason)
                // This one can be read once, too, and the next as often as needed.
                if asked.all.count == 1 { return once("2") }
                var form = MultipartForm()
                form.add("text", name: "\(asked.all.count)")
                return .multipart(form)
            }
            let report = try await door.send(request)
            #expect(report.outcome == .success("there"))
            #expect(asked.all == [.retry, .retry])
            #expect(wire.server.requests.prefix(2).map(\.text) == ["1", "2"])
            #expect(wire.server.requests[2]["content-type"]?.hasPrefix("multipart/form-data") == true)
            #expect(wire.server.requests[2].text.contains("name=\"2\""))
        }
    }

    @Test(arguments: FrontDoor.allCases)
    func withoutOneItIsAsWithoutAHook(door: FrontDoor) async throws {
        try await withWire { wire async throws in
            wire.server.on("/old", .redirect(to: "/new", status: 307))
            wire.server.on("/busy", .status(503))
            let redirected = wire.session.request(wire.url + "/old", method: .put, body: once("x")).provideBody { _ in nil }
            let first = try await door.send(redirected)
            #expect(first.outcome == .failure(.bodyNotReplayable))
            let retried = wire.session.request(wire.url + "/busy", method: .put, body: once("x")).options { $0.retry = .standard }
                .provideBody { _ in nil }
            let second = try await door.send(retried)
            #expect(second.outcome == .failure(.unacceptableStatus))
            #expect(wire.server.requests.count == 2)
        }
    }

    @Test func theNewBodyIsCheckedLikeTheFirst() async throws {
        try await withWire { wire async throws in
            wire.server.on("/old", .redirect(to: "/new", status: 307))
            let bad = wire.session.request(wire.url + "/old", method: .put, body: once("x")).provideBody { _ in
                .json(["a": Double.infinity])
            }
            #expect(try await bad.failure().code == .invalidParameters)
            let thrown = wire.session.request(wire.url + "/old", method: .put, body: once("x")).provideBody { _ in
                throw CancellationError()
            }
            #expect(try await thrown.failure().code == .hookFailed)
            #expect(wire.server.requests.count == 2)
        }
    }

    @Test func bodiesThatCanBeSentAgainAreNotAskedFor() async throws {
        let asked = Counter()
        try await withWire {
            $0.options.hooks.newBody = { _ in
                asked.add()
                return nil
            }
        } _: { wire async throws in
            wire.server.on("/old", .redirect(to: "/new", status: 307))
            wire.server.on("/new", .ok("there"))
            _ = try await wire.send("/old", method: "PUT", body: .data(Data("x".utf8)))
            // No body goes along where the method becomes GET.
            wire.server.on("/post", .redirect(to: "/new", status: 303))
            _ = try await wire.send("/post", method: "POST", body: once("x"))
            #expect(asked.value == 0)
        }
    }

    @Test func aRedirectHookMayGoFirst() async throws {
        try await withWire { wire async throws in
            wire.server.on("/old", .redirect(to: "/new", status: 307))
            wire.server.on("/other", .ok("there"))
            let order = Trace()
            let request = wire.session.request(wire.url + "/old", method: .put, body: once("first"))
            _ = request.decideRedirect { hop in
                order.add("redirect")
                var next = hop.proposed
                next.url = "/other"
                return .follow(next)
            }.provideBody { replay in
                order.add("body for \(replay.url.dropFirst(wire.url.count))")
                return .data(Data("second".utf8))
            }
            _ = try await request.value()
            #expect(order.lines == ["redirect", "body for /other"])
            #expect(wire.server.requests.map(\.text) == ["first", "second"])
        }
    }
}
