import CleanSlate
import Foundation
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// Progress counts the bytes of the file, wherever they came from (SES-6; defect 48: more than 100 % after going on).
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1))) struct ResumeProgressTests {
    private let body = bytes(1000)

    private func progress(_ wire: ResumeWire, _ request: Request<URL>) async -> [TransferProgress] {
        let seen = Gathered<TransferProgress>()
        _ = await request.onDownloadProgress { seen.add($0) }.outcome()
        await wire.wire.agent.waitUntilIdle()
        return seen.all
    }

    private func expectSound(_ seen: [TransferProgress], _ location: SourceLocation = #_sourceLocation) {
        #expect(seen.allSatisfy { $0.completed <= $0.total ?? .max }, "\(seen)", sourceLocation: location)
        #expect(seen.allSatisfy { $0.fraction ?? 0 <= 1 }, "\(seen)", sourceLocation: location)
    }

    // SES-12
    @Test func theFirstReportIsWhereItGoesOn() async throws {
        try await withResumeWire { wire async throws in
            try await wire.breakOff(after: 400, of: tagged(body))
            wire.server.on("/", tagged(body).stalling(.afterHead))
            let (reports, continuation) = AsyncStream.makeStream(of: TransferProgress.self)
            wire.download().onDownloadProgress { continuation.yield($0) }.onEnd { _ in continuation.finish() }.start()
            var seen: [TransferProgress] = []
            for await report in reports {
                // The head is here before the server stands still behind it.
                if seen.isEmpty {
                    try await wire.server.waitForStalls()
                    wire.server.releaseStalls()
                }
                seen.append(report)
            }
            #expect(seen.first == TransferProgress(completed: 400, total: 1000))
            #expect(seen.last == TransferProgress(completed: 1000, total: 1000))
            expectSound(seen)
        }
    }

    @Test func itNeverGoesBackOverRetries() async throws {
        try await withResumeWire {
            $0.options.retry = RetryPolicy(maxAttempts: 4, backoffBase: .milliseconds(1))
        } _: { wire async throws in
            wire.server.on("/") { [body] _ in tagged(body).ending(.truncate(afterBytes: 300)) }
            let seen = await progress(wire, wire.download())
            #expect(zip(seen, seen.dropFirst()).allSatisfy { $0.completed < $1.completed }, "\(seen)")
            #expect(seen.last == TransferProgress(completed: 1000, total: 1000))
            expectSound(seen)
        }
    }

    /// The server has another file, and a shorter one: the bar begins anew, as it would else never end.
    @Test func anotherFileBeginsAnew() async throws {
        try await withResumeWire {
            $0.options.retry = RetryPolicy(maxAttempts: 2, backoffBase: .milliseconds(1))
        } _: { wire async throws in
            wire.server.enqueue(tagged(body).ending(.truncate(afterBytes: 800)), for: "/")
            wire.server.on("/", tagged(Data(body.prefix(500)), "v2"))
            let seen = await progress(wire, wire.download())
            #expect(seen.contains(TransferProgress(completed: 800, total: 1000)))
            #expect(seen.last == TransferProgress(completed: 500, total: 500))
            expectSound(seen)
        }
    }

    @Test func whatIsRefusedIsNotCounted() async throws {
        try await withResumeWire { wire async throws in
            try await wire.breakOff(after: 400, of: tagged(body))
            wire.server.enqueue(
                ScriptedResponse(status: 206, headers: ["Content-Range": "bytes 0-999/1000", "ETag": "\"v1\""], body: .bytes(Array(body))),
                for: "/")
            wire.server.on("/", tagged(body))
            let seen = await progress(wire, wire.download())
            #expect(zip(seen, seen.dropFirst()).allSatisfy { $0.completed < $1.completed }, "\(seen)")
            #expect(seen.last == TransferProgress(completed: 1000, total: 1000))
            expectSound(seen)
        }
    }
}
