import CleanSlate
import Foundation
import TestProcesses
import Testing

/// The bridge in processes whose main thread is GLib's; the main thread of this one belongs to Swift Testing.
@Suite(.leavesNothing) struct MainQueueBridgeTests {
    @Test func everyWayToTheMainQueueArrivesOnTheMainThread() async throws {
        #expect(try await lines("tasks") == ["task true", "sleep true", "hop true", "after true"])
    }

    @Test func workThatWasQueuedBeforeRuns() async throws { #expect(try await lines("before") == ["queued"]) }

    @Test func anotherThreadIsRefused() async throws {
        #expect(try await lines("thread") == ["The main queue can be attached to GLib on the main thread only.", "false"])
    }

    @Test func aLibdispatchWithoutItsDescriptorIsRefused() async throws {
        let found = try await lines(of: "GLibRefusalProbe", [])
        #expect(found == ["This libdispatch offers no descriptor of its main queue. false"])
    }

    @Test func theSecondInstallationIsTheFirst() async throws { #expect(try await lines("twice") == ["true", "false"]) }

    @Test func workWaitsFromTheRemovalToTheNextInstallation() async throws {
        #expect(try await lines("uninstall") == ["uninstalled", "again", "ran"])
    }

    @Test func aLoopNestedInWorkOfTheMainQueueLeavesTheQueueAlone() async throws {
        #expect(try await lines("nested") == ["first", "second"])
    }

    @Test func aLoopNestedInACallbackOfGLibServesTheMainQueue() async throws {
        #expect(try await lines("callback") == ["nested", "callback"])
    }

    @Test func workWithoutAnEndLeavesGLibItsTurn() async throws { #expect(try await lines("endless") == ["timeout"]) }

    /// Polling would be ten wake-ups a second or more.
    @Test func anIdleLoopSleeps() async throws {
        let wakeups = try await lines("idle").first?.split(separator: " ").last.flatMap { Int($0) }
        #expect(try #require(wakeups) <= 4)
    }

    /// The program of the article ends by itself, once its task has.
    @Test func theProgramOfTheArticleRuns() async throws {
        let began = ContinuousClock.now
        #expect(try await lines("article").isEmpty)
        // It sleeps for a second; without the main queue it would not end, and without the loop it would not wait.
        #expect(began.duration(to: .now) >= .seconds(1))
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        func text(_ path: String) throws -> String { try String(contentsOf: root.appending(path: path), encoding: .utf8) }
        let code = try text("Tests/GLibProbe/ArticleProgram.swift").split(separator: "\n\n", maxSplits: 1)[1]
        #expect(try text("Sources/GLibMainLoop/GLibMainLoop.docc/GLibMainLoop.md").contains("```swift\n\(code)```"))
    }

    private func lines(_ scenario: String) async throws -> [String] { try await lines(of: "GLibProbe", [scenario]) }

    private func lines(of program: String, _ arguments: [String]) async throws -> [String] {
        let run = try ProgramRun([product(program)] + arguments)
        let result = await run.result()
        #expect(result.status == 0, "\(result.errors)")
        return result.output.split(separator: "\n").map(String.init)
    }
}
