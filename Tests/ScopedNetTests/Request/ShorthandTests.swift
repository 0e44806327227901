import CleanSlate
import Foundation
import HTTPTypes
import ScopedNetTesting
import Testing

@testable import ScopedNet

/// The options that chain, and the key that makes a POST repeatable.
@Suite(.leavesNothing, .timeLimit(.minutes(5))) struct ShorthandTests {
    @Test func eachSetsItsOption() async throws {
        try await withStage { session, transport async throws in
            let request = session.request("http://h/").timeout(.seconds(5)).retry(.standard).priority(.high).validate(.any)
                .cache(.off).tag("list").resuming().header("X-Key", "1")
            let options = request.currentOptions
            #expect(options.timeouts.total == .seconds(5) && options.retry == .standard && options.priority == .high)
            #expect(options.validation.statuses == .any && options.cache == .off && options.tag == "list" && options.downloads.resumes)
            #expect(request.timeout(nil).currentOptions.timeouts.total == nil)
            transport.enqueue(.ok())
            _ = try await request.header("X-Key", "2").value()
            #expect(transport.started[0].headers[values: .init("X-Key")!] == ["2"])
        }
    }

    @Test func aPOSTWithAKeyIsRepeatedWithTheSameKey() async throws {
        try await withStage { session, transport async throws in
            for reply in [MockReply.failing(.connectionLost), .status(503), .ok("done")] { transport.enqueue(reply) }
            var policy = RetryPolicy.standard
            policy.backoffBase = .zero
            let request = session.request("http://h/", method: .post, body: .data(Data("x".utf8))).retry(policy).idempotencyKey()
            #expect(try await request.value() == Data("done".utf8))
            let keys = transport.started.map { $0.headers[values: .init("Idempotency-Key")!] }
            #expect(keys.count == 3 && Set(keys).count == 1 && keys[0].first?.count == 38, "\(keys)")
        }
    }

    @Test func aPOSTWithoutAKeyIsNot() async throws {
        try await withStage { session, transport async throws in
            transport.enqueue(.failing(.connectionLost))
            let error = try await session.request("http://h/", method: .post, body: .data(Data("x".utf8))).retry(.standard).failure()
            #expect(error.code == .connectionLost && transport.started.count == 1)
        }
    }

    @Test func aKeyIsAString() async throws {
        try await withStage { session, transport async throws in
            transport.enqueue(.ok())
            _ = try await session.request("http://h/", method: .post).idempotencyKey(#"a"b\c"#).value()
            #expect(transport.started[0].headers[.init("Idempotency-Key")!] == #""a\"b\\c""#)
        }
    }
}
