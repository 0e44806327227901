import CleanSlate
import Foundation
import Testing

@testable import ScopedNet

/// G13: repeat strategies, per object and per key; check and start are one step.
@Suite(.leavesNothing) struct G13RepeatTests {
    @Test func bothNamesOfAStrategyAreTheSameStrategy() {
        let names: [(RepeatStrategy, RepeatStrategy)] = [
            (.concurrent, .allowAll), (.replaceRunning, .cancelOldest), (.keepRunning, .cancelNewest),
        ]
        for (documented, other) in names { #expect(documented == other) }
        #expect(Set(names.map(\.0)).count == 3)
        #expect(RequestOptions().repeats == .concurrent)
    }

    // YTK-1, YB-6, defects 16, 58
    @Test func eachStartIsARunWithItsOwnCallbacks() async throws {
        try await withStage { session, stage in
            let trace = Trace()
            let request = session.request("http://h/")
            request.onSuccess { _ in trace.add("one") }.start()
            request.onSuccess { _ in trace.add("two") }.start()
            request.start()
            await stage.waitForStarts(3)
            stage.succeed(stage.started[2])
            stage.succeed(stage.started[1])
            stage.succeed(stage.started[0])
            await session.agent.waitUntilIdle()
            #expect(trace.lines == ["two", "one"])
        }
    }

    // YB-5, defect 22
    @Test(arguments: [true, false])
    func cancelOldestReplacesAndTheOldOneIsSilent(byKey: Bool) async throws {
        try await withStage { session, stage in
            let trace = Trace()
            func start(_ name: String, _ request: Request<Data>) {
                request.options {
                    $0.repeats = .replaceRunning
                    if byKey { $0.repeats.key = "search" }
                }
                .onSuccess { _ in trace.add("\(name) success") }
                .onEnd { if case .cancelled(let reason) = $0 { trace.add("\(name) \(reason)") } }
                .start()
            }
            let object = session.request("http://h/")
            for name in ["a", "ab", "abc"] { start(name, byKey ? session.request("http://h/") : object) }
            await stage.waitForStarts(3)
            for started in stage.started { stage.succeed(started) }
            await session.agent.waitUntilIdle()
            #expect(Set(trace.lines) == ["a replaced", "ab replaced", "abc success"])
            #expect(trace.lines.count == 3)
        }
    }

    // YB-5, CT-1
    @Test func cancelNewestRefusesAndTellsTheCaller() async throws {
        try await withStage { session, stage in
            let trace = Trace()
            let request = session.request("http://h/").options { $0.repeats = .keepRunning }
            let first = request.onSuccess { _ in trace.add("first") }.start()
            let second = request.onSuccess { _ in trace.add("second") }.onEnd { _ in trace.add("second end") }.start()
            #expect(!first.wasRefused)
            #expect(second.wasRefused)
            #expect(second.id == first.id)
            do throws(NetworkError) {
                _ = try await request.value()
                Issue.record("not refused")
            } catch { #expect(error.code == .duplicateRequest) }
            stage.succeed(stage.started[0])
            await session.agent.waitUntilIdle()
            #expect(stage.started.count == 1)
            #expect(trace.lines == ["first"])
            #expect(!request.start().wasRefused)
            session.agent.cancelAll()
        }
    }

    // YB-5
    @Test func concurrentStartsWithOneKeyGiveOneRun() async throws {
        try await withStage { session, stage in
            for round in 0..<50 {
                let accepted = Counter()
                await withTaskGroup(of: Void.self) { group in
                    for _ in 0..<8 {
                        group.addTask {
                            let result = session.request("http://h/").options {
                                $0.repeats = .keepRunning
                                $0.repeats.key = "round \(round)"
                            }.start()
                            if !result.wasRefused { accepted.add() }
                        }
                    }
                }
                #expect(accepted.value == 1)
                session.agent.cancelAll()
                await session.agent.waitUntilIdle()
            }
            _ = stage
        }
    }
}
