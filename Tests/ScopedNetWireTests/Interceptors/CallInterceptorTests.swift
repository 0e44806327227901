import CleanSlate
import Foundation
import HTTPTypes
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// Interceptors around the whole call: ``RequestOptions/Interceptors/call``.
@Suite(.leavesNothing, .timeLimit(.minutes(1))) struct CallInterceptorTests {
    @Test func theyRunInOrderOnceForAllRedirectsAndRetries() async throws {
        try await withWire {
            $0.options.retry = RetryPolicy(maxAttempts: 3, backoffBase: .milliseconds(1))
        } _: { wire async throws in
            wire.server.enqueue(.status(503))
            wire.server.enqueue(.redirect(to: "/there"))
            wire.server.on("/there", .ok("there"))
            let log = Gathered<String>()
            wire.session.onRequest { request in
                request.headers["X-Trace"] = "adapter"
                log.add("adapter out")
            }
            let value = try await wire.get().interceptors(call: [
                Intercepting.setting("X-A", "first", log: log), Intercepting.setting("X-B", "second", log: log),
            ]).value()
            #expect(value == Data("there".utf8))
            #expect(log.all == ["adapter out", "first out", "second out", "second back 200", "first back 200"])
            #expect(wire.server.requests.map(\.path) == ["/", "/", "/there"])
            for request in wire.server.requests {
                #expect(request.headers["X-Trace"] == "adapter" && request.headers["X-A"] == "first" && request.headers["X-B"] == "second")
            }
        }
    }

    @Test(arguments: [InterceptedRequest.Context.Place.call, .exchange])
    func thoseOfTheSessionStandOutside(_ place: InterceptedRequest.Context.Place) async throws {
        let log = Gathered<String>()
        func of(_ name: String) -> (call: [any Interceptor], exchange: [any Interceptor]) {
            let one = Intercepting.setting("X-Of", name, log: log)
            return place == .call ? ([one], []) : ([], [one])
        }
        try await withWire {
            ($0.options.interceptors.call, $0.options.interceptors.exchange) = of("session")
        } _: { wire async throws in
            wire.server.on("/", .ok())
            let (first, second) = (of("first"), of("second"))
            _ = try await wire.get().interceptors(call: first.call, exchange: first.exchange)
                .interceptors(call: second.call, exchange: second.exchange).value()
            #expect(log.all.prefix(3) == ["session out", "first out", "second out"])
            #expect(log.all.dropFirst(3) == ["second back 200", "first back 200", "session back 200"])
            #expect(wire.server.requests.first?.headers["X-Of"] == "second")
        }
    }

    @Test func urlMethodFieldsAndBodyAreSentAsChanged() async throws {
        try await withWire { wire async throws in
            wire.server.on("/other", .ok("there"))
            let value = try await wire.get("/").interceptors(call: [
                Intercepting { request, context, next in
                    #expect(context.place == .call && context.attempt == 1 && context.redirects == 0)
                    var request = request
                    request.url = "/other?x=1"
                    request.method = .put
                    request.body = .json(["a": 1])
                    return try await next(request)
                }
            ]).value()
            let seen = try #require(wire.server.requests.first)
            #expect(value == Data("there".utf8) && seen.method == "PUT" && seen.target == "/other?x=1")
            #expect(seen.text == #"{"a":1}"# && seen.headers["Content-Type"] == "application/json")
        }
    }

    /// The key and `Vary` see what the interceptors have made of the request.
    @Test func keyAndWireAgree() async throws {
        try await withCache { cached async throws in
            let wire = cached.wire
            wire.server.on("/a", .ok("a").header("Cache-Control", "max-age=100"))
            let moved = Intercepting { request, _, next in
                var request = request
                request.url = "/a"
                return try await next(request)
            }
            let first = try await wire.get("/x").interceptors(call: [moved]).response()
            let second = try await wire.get("/a").response()
            let third = try await wire.get("/y").interceptors(call: [moved]).response()
            #expect(first.source == .network && second.source == .cache && third.source == .cache)
            #expect(wire.server.requests.count == 1)
        }
    }

    @Test func anAnswerWithoutTheNetworkIsValidatedAndDecoded() async throws {
        try await withWire { wire async throws in
            func answering(_ status: Int, _ body: String) -> Request<[String: Int]> {
                wire.session.get(wire.url + "/", as: [String: Int].self).interceptors(call: [
                    Intercepting { _, _, _ in
                        InterceptedResponse(status: status, headers: [.contentType: "application/json"], body: Data(body.utf8))
                    }
                ])
            }
            let response = try await answering(200, #"{"n":7}"#).response()
            #expect(response.value == ["n": 7] && response.source == .interceptor)
            #expect(try await answering(404, "{}").failure().code == .unacceptableStatus)
            #expect(try await answering(200, "no JSON").failure().code == .decodingFailed)
            #expect(wire.server.requests.isEmpty)
        }
    }

    /// Also errors that no exchange had: the queue is full, a redirect leads nowhere.
    @Test func everyErrorCanBeAnswered() async throws {
        let fallback = Intercepting { request, _, next in
            do { return try await next(request) } catch let error as NetworkError {
                return InterceptedResponse(status: 200, body: Data("\(error.code)".utf8))
            }
        }
        try await withWire { wire async throws in
            wire.server.on("/loop", .redirect(to: "/loop"))
            let loop = try await wire.get("/loop").interceptors(call: [fallback]).value()
            #expect(loop == Data("redirectLoop".utf8))
            let refused = try await wire.session.get("http://127.0.0.1:1/").interceptors(call: [fallback]).value()
            #expect(refused == Data("connectionRefused".utf8))
            let bad = Intercepting { request, _, next in
                var request = request
                request.headers["bad name"] = "x"
                return try await next(request)
            }
            let header = try await wire.get().interceptors(call: [fallback, bad]).value()
            #expect(header == Data("invalidHeader".utf8))
        }
    }

    @Test func nextMayBeCalledAgain() async throws {
        try await withWire { wire async throws in
            wire.server.on("/first", .status(404))
            wire.server.on("/second", .ok("there"))
            let value = try await wire.get("/first").interceptors(call: [
                Intercepting { request, _, next in
                    let response = try await next(request)
                    guard response.head.status == 404 else { return response }
                    var other = request
                    other.url = "/second"
                    return try await next(other)
                }
            ]).value()
            #expect(value == Data("there".utf8) && wire.server.requests.map(\.path) == ["/first", "/second"])
        }
    }

    @Test func aCompressedBodyComesDecoded() async throws {
        try await withWire { wire async throws in
            let text = String(repeating: "scoped ", count: 100)
            wire.server.on("/", .ok(.bytes(CodedBodies.gzip(Array(text.utf8)))).header("Content-Encoding", "gzip"))
            let seen = Gathered<String>()
            let value = try await wire.get().interceptors(
                call: [
                    Intercepting { request, _, next in
                        var response = try await next(request)
                        seen.add("\(response.data.count) \(response.head["content-encoding"] ?? "-")")
                        response.body = .data(response.data.prefix(7))
                        return response
                    }
                ],
                exchange: [
                    Intercepting { request, _, next in
                        let response = try await next(request)
                        seen.add("\(response.data.count < text.utf8.count) \(response.head["content-encoding"] ?? "-")")
                        return response
                    }
                ]
            ).value()
            #expect(value == Data("scoped ".utf8) && seen.all == ["true gzip", "700 -"])
        }
    }

    /// As the caller's own (``RedirectPolicy``).
    @Test func theirCredentialsStayBehindOnTheWayToAnotherOrigin() async throws {
        try await withWire { wire async throws in
            try await withLoopbackServer { other in
                other.on("/", .ok("there"))
                wire.server.on("/", .redirect(to: other.url + "/"))
                let value = try await wire.get().interceptors(call: [
                    Intercepting { request, _, next in
                        var request = request
                        request.headers["Authorization"] = "Bearer secret"
                        request.headers["X-Plain"] = "yes"
                        return try await next(request)
                    }
                ]).value()
                #expect(value == Data("there".utf8))
                #expect(wire.server.requests.first?.headers["Authorization"] == "Bearer secret")
                let seen = try #require(other.requests.first)
                #expect(seen.headers["Authorization"] == nil && seen.headers["X-Plain"] == "yes")
            }
        }
    }

    @Test func foreignErrorsAreUnderlying() async throws {
        struct Refusal: Error {}
        try await withWire { wire async throws in
            let foreign = try await wire.get().onRequest { _ in throw Refusal() }.failure()
            #expect(foreign.code == .interceptorFailed && foreign.underlying is Refusal)
            let own = NetworkError(.pinMismatch, phase: .securing, message: "mine")
            #expect(try await wire.get().onRequest { _ in throw own }.failure().code == .pinMismatch)
            #expect(wire.server.requests.isEmpty)
        }
    }
}
