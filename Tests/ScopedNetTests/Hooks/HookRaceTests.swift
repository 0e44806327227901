import CleanSlate
import Foundation
@_spi(Transport) import ScopedNetTesting
import Testing

@_spi(Transport) @testable import ScopedNet

/// Answers, ends of transfers and cancels in every order that comes: each run ends once, and nothing is left.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(5)))
struct HookRaceTests {
    private static let replies: [MockReply] = [
        .ok("0123456789"), .ok(), MockReply.ok("0123456789").inPieces(of: 1), .status(503), MockReply.ok("0123").thenFailing(),
    ]

    /// So many turns of the scheduler, to come before or after the others.
    private static func pause(_ turns: Int) async { for _ in 0..<turns { await Task.yield() } }

    // SES-11
    @Test(arguments: [RequestEnding.nobody, .handle, .bag])
    func everyRunEndsOnce(ending: RequestEnding) async throws {
        let folder = TemporaryFolder()
        let transport = MockTransport { exchange in
            exchange.path == "/old" ? .redirect(to: "/new") : Self.replies[Int(exchange.id.number % UInt64(Self.replies.count))]
        }
        let session = Session(configuration: .init(customTransport: transport, agent: RequestAgent()))
        let count = 400
        let (ends, afterwards) = (Trace(), Counter())
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<count {
                let file = URL(filePath: folder.path + "/\(number)")
                group.addTask {
                    let bag = DeallocBag()
                    let isOver = Counter()
                    let request = session.request("http://h/old", decoder: .dataOrFile).options {
                        $0.retry = RetryPolicy(maxAttempts: 2, backoffBase: .zero)
                    }.decideRedirect { _ in
                        await Self.pause(number % 5)
                        return .follow
                    }.decideDisposition { _ in
                        await Self.pause(number % 7)
                        return number % 3 == 0 ? .download(to: file) : number % 11 == 0 ? .cancel : .allow
                    }.onResponseHead { _ in if isOver.value > 0 { afterwards.add() } }.onSuccess { _ in ends.add("value \(number)") }
                        .onFailure { _ in ends.add("value \(number)") }.onEnd { _ in
                            isOver.add()
                            ends.add("end \(number)")
                        }
                    let run = request.start(in: bag)
                    await Self.pause(number % 13)
                    switch ending {
                    case .nobody: await session.agent.ended(run.core)
                    case .handle: run.cancel()
                    case .bag: bag.end()
                    }
                }
            }
        }
        await session.agent.waitUntilIdle()
        let lines = ends.lines
        #expect(Set(lines).count == lines.count, "something was told twice")
        #expect(lines.count { $0.hasPrefix("end") } == count)
        #expect(afterwards.value == 0)
        #expect(session.agent.liveCount == 0)
        // A file is there whole or not at all.
        for name in folder.names {
            let size = folder.contents(of: name)?.count
            #expect(size == 10 || size == 0, "\(name)")
        }
        await session.shutdown()
    }

    enum RequestEnding: Sendable { case nobody, handle, bag }
}
