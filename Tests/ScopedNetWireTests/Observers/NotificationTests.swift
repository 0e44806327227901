import CleanSlate
import Foundation
import ScopedNetFoundation
import ScopedNetTestServer
import SystemSupport
import Testing

@testable import ScopedNet

/// `NotificationCenter` gets did-resume, did-suspend and did-complete, with the payload.
@Suite(.leavesNothing) struct NotificationTests {
    private final class Listener: Sendable {
        let center = NotificationCenter()
        let trace = Trace()
        private let tokens = Lock<[Token]>([])
        private struct Token: @unchecked Sendable {
            // Safety: an opaque token, only handed back.
            let object: any NSObjectProtocol
        }

        func listen() {
            for name in [Notification.Name.requestDidResume, .requestDidSuspend, .requestDidComplete] {
                let token = center.addObserver(forName: name, object: nil, queue: nil) { [trace] note in
                    let keys = (note.userInfo ?? [:]).keys.compactMap { ($0 as? String)?.split(separator: ".").last.map(String.init) }
                        .sorted()
                    let run = note.object as? Run.Info
                    trace.add("\(name.rawValue.split(separator: ".").last ?? "") \(run?.tag ?? "-") \(keys.joined(separator: ","))")
                }
                tokens.withLock { $0.append(Token(object: token)) }
            }
        }
    }

    // SES-13
    @Test func resumeSuspendAndCompleteWithTheirPayload() async throws {
        let listener = Listener()
        listener.listen()
        try await withHouse(.init(), { $0.observers = [RequestNotifications(center: listener.center)] }) { house in
            house.server.on("/ok", .ok("x").stalling(.beforeHead))
            house.server.on("/bad", .status(500))
            let run = house.session.request(house.url("/ok")).options { $0.tag = "ok" }.start()
            try await house.server.waitForStalls()
            run.suspend()
            run.resume()
            house.server.releaseStalls()
            await house.agent.waitUntilIdle()
            _ = try? await house.session.request(house.url("/bad")).options { $0.tag = "bad" }.value()
            await house.agent.waitUntilIdle()
        }
        #expect(
            listener.trace.lines == [
                "didResume ok ", "didSuspend ok ", "didResume ok ", "didComplete ok metrics,response,value",
                "didResume bad ", "didComplete bad error,metrics,response",
            ])
    }

    // SES-13
    @Test func aDownloadCarriesItsPath() async throws {
        let listener = Listener()
        listener.listen()
        let folder = TemporaryFolder()
        try await withHouse(.init(), { $0.observers = [RequestNotifications(center: listener.center)] }) { house in
            house.server.on("/file", .ok("bytes"))
            _ = try await house.session.download(house.url("/file"), to: URL(filePath: folder.path + "/file")).value()
        }
        #expect(listener.trace.lines == ["didResume - ", "didComplete - filePath,metrics,response,value"])
    }

    @Test func aCancelledRunCompletesWithItsReason() async throws {
        let listener = Listener()
        listener.listen()
        let reasons = Trace()
        let token = listener.center.addObserver(forName: .requestDidComplete, object: nil, queue: nil) { note in
            let error = note.userInfo?[RequestNotifications.Key.error] as? NetworkError
            let run = note.object as? Run.Info
            reasons.add("\(error?.code.description ?? "-") \(error?.cancelReason?.description ?? "-") \(error?.runID == run?.id)")
        }
        try await withStage({ $0.observers = [RequestNotifications(center: listener.center)] }) { session, stage in
            let run = session.request("http://h/").start()
            await stage.waitForStarts(1)
            run.cancel()
            await session.agent.waitUntilIdle()
        }
        listener.center.removeObserver(token)
        #expect(listener.trace.lines == ["didResume - ", "didComplete - cancelReason,error"])
        #expect(reasons.lines == ["cancelled explicit true"])
    }

    /// SES-14: suspending what is suspended, resuming what goes on and cancelling what has ended post nothing.
    @Test func onlyRealTransitionsArePosted() async throws {
        let listener = Listener()
        listener.listen()
        try await withStage({ $0.observers = [RequestNotifications(center: listener.center)] }) { session, stage in
            let run = session.request("http://h/").options { $0.tag = "it" }.start()
            await stage.waitForStarts(1)
            #expect(!run.resume())
            #expect(run.suspend())
            #expect(!run.suspend())
            #expect(run.resume())
            #expect(!run.resume())
            stage.succeed(stage.started[0])
            await session.agent.waitUntilIdle()
            #expect(!run.suspend())
            #expect(!run.resume())
            #expect(run.cancel() == .alreadyEnded)
        }
        #expect(
            listener.trace.lines == ["didResume it ", "didSuspend it ", "didResume it ", "didComplete it metrics,response,value"])
    }
}
