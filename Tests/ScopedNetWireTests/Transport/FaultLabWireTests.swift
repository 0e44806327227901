import CleanSlate
import Foundation
import HTTPTypes
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// The faults of the laboratory, through the real client: a typed error, never a hang, never a wrong body.
@Suite(.leavesNothing, .timeLimit(.minutes(1))) struct FaultLabWireTests {
    @Test(arguments: FramingFault.allCases) func brokenFramingIsNeverAWrongBody(fault: FramingFault) async throws {
        try await withHouse { house in
            house.server.on("/", .malformed(fault))
            let outcome = await house.session.request(house.url("/")).outcome()
            switch outcome {
            case .success(let response):
                // libcurl reads over these; the body is what the framing says.
                let text = String(decoding: response.body, as: UTF8.self)
                #expect(["ok", "hello", "he", ""].contains(text), "\(fault): \(text)")
            case .failure(let error):
                let codes: [NetworkError.Code] = [.badResponse, .truncatedBody, .connectionLost, .contentDecodingFailed]
                #expect(codes.contains(error.code), "\(fault): \(error)")
            }
            let mustFail: Set<FramingFault> = [.statusLine, .shortBody, .chunkSize, .longChunk, .noLastChunk, .silence, .negativeLength]
            if mustFail.contains(fault), case .success = outcome { Issue.record("\(fault) passed for a response") }
        }
    }

    @Test func aHeadThatDripsTooSlowlyIsATimeout() async throws {
        try await withHouse { house in
            house.server.on("/slow", .ok("x").slowHead(every: .seconds(3600)))
            house.server.on("/fine", .ok("x").slowHead(bytes: 7, every: .milliseconds(1)))
            let slow = await house.session.request(house.url("/slow")).options { options in
                options.timeouts.firstByte = .milliseconds(200)
                options.timeouts.idle = .milliseconds(200)
            }.outcome()
            let fine = await house.session.request(house.url("/fine")).outcome()
            #expect([.firstByteTimeout, .idleTimeout].contains(slow.failure?.code))
            #expect(fine.body == "x")
        }
    }

    @Test func credentialsOfTheRequestOpenTheDoor() async throws {
        try await withHouse { house in
            house.server.on("/", .ok("inside"))
            house.server.protect("/", with: .bearer(token: "t"))
            let refused = await house.session.request(house.url("/")).outcome()
            let friend = await house.session.request(house.url("/"), headers: [.authorization: "Bearer t"]).outcome()
            #expect(refused.failure?.code == .unacceptableStatus)
            #expect(refused.failure?.response?["www-authenticate"] == "Bearer realm=\"loopback\"")
            #expect(friend.body == "inside")
        }
    }

    @Test func conditionsAndRangesAreAnswered() async throws {
        try await withHouse { house in
            house.server.on("/", .ok("0123456789").tagged("1"))
            var accepted = house.session.request(house.url("/"), headers: [.range: "bytes=2-4", .ifRange: "\"1\""])
            let part = try await accepted.response()
            #expect(part.status == 206)
            #expect(part.body == Data("234".utf8))
            accepted = house.session.request(house.url("/"), headers: [.ifNoneMatch: "\"1\""])
            let known = await accepted.outcome()
            #expect(known.failure?.response?.status == 304)
        }
    }

    @Test(arguments: [nil, ProxyConfiguration.Credentials(user: "ann", password: "p:ss")])
    func requestsGoThroughSOCKS(credentials: ProxyConfiguration.Credentials?) async throws {
        let proxy = LoopbackProxy(.init(.socks5, credentials: credentials.map { .init(user: $0.user, password: $0.password) }))
        try await proxy.start()
        try await withHouse {
            $0.proxy = .explicit(url: proxy.url, credentials: credentials)
        } _: { house in
            house.server.on("/", .ok("through"))
            let body = try await house.session.request(house.url("/")).value()
            #expect(body == Data("through".utf8))
            let seen = try await proxy.takeRequest()
            #expect(seen.method == "SOCKS5")
            // A cancel reaches the origin through the tunnel.
            house.server.on("/stall", .ok("x").stalling(.beforeHead))
            let run = house.session.request(house.url("/stall")).start()
            try await house.server.waitForStalls()
            run.cancel()
            try await house.server.waitForClientsToLeave()
        }
        await proxy.stop()
    }

    @Test func aSOCKSProxyThatRefusesIsAProxyFailure() async throws {
        let proxy = LoopbackProxy(.init(.socks5, refusal: 403))
        try await proxy.start()
        try await withHouse {
            $0.proxy = .explicit(url: proxy.url)
        } _: { house in
            let outcome = await house.session.request(house.url("/")).outcome()
            #expect(outcome.failure?.code == .proxyFailed)
        }
        await proxy.stop()
    }
}

extension Result where Success == Response<Data> {
    fileprivate var body: String? { if case .success(let response) = self { String(decoding: response.body, as: UTF8.self) } else { nil } }
    fileprivate var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}
