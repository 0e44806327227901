import CleanSlate
import FoundationEssentials
import Glibc
import Synchronization
import SystemSupport
import Testing

@testable import Persistence

/// In this process, with a signal nobody else uses; what SIGTERM does is shown by `ProcessTests` (S0-1).
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(5))) struct TerminationFlushTests {
    let folder = TestFolder()

    /// The thread of a former one may still be on its way out.
    private func install(_ stores: [Store]) async -> TerminationFlush {
        while true {
            if let flush = try? TerminationFlush(stores, signals: [SIGUSR2]) { return flush }
            await Task.yield()
        }
    }

    private static var handler: Int {
        var action = sigaction()
        sigaction(SIGUSR2, nil, &action)
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
    }

    @Test func thereIsOneAndItPutsBackWhatWas() async throws {
        let former = Self.handler
        let store = Store(folder.configuration())
        do {
            let flush = await install([store])
            #expect(Self.handler != former)
            let error = #expect(throws: StoreError.self) { try TerminationFlush([], signals: [SIGUSR2]) }
            #expect(error?.code == .unavailable)
            withExtendedLifetime(flush) {}
        }
        #expect(Self.handler == former)
        let again = await install([store])
        withExtendedLifetime(again) {}
        await store.close()
    }

    /// Thread A takes the signal and is about to note it; thread B drops the object, and the former handling is back. The signal came before
    /// that, and has to do what it would have done without the object.
    @Test func aSignalThatIsNotedAfterTheEndIsSentOnAndDoesNotMeetTheNextOne() async throws {
        let store = Store(folder.configuration())
        try await withCountedSignal { count in
            let late: Int
            do {
                let flush = await install([store])
                late = Self.handler
                withExtendedLifetime(flush) {}
            }
            #expect(Self.handler != late)
            while TerminationFlush.isInstalled { await Task.yield() }
            unsafeBitCast(late, to: (@convention(c) (Int32) -> Void).self)(SIGUSR2)
            // Some thread takes it; this one may have it blocked.
            while count() < 1, !Task.isCancelled { await Task.yield() }
            // Nothing is left for the next one to hear.
            let next = await install([store])
            kill(getpid(), SIGUSR2)
            while count() < 2, !Task.isCancelled { await Task.yield() }
            withExtendedLifetime(next) {}
            while TerminationFlush.isInstalled { await Task.yield() }
            #expect(count() == 2)
        }
        await store.close()
    }

    /// The first is taken out already, and the former handling not yet back: nobody looks again for this one.
    @Test func aSecondSignalBehindTheFirstIsSentOnToo() async throws {
        try await withCountedSignal(SIGURG) { second in
            try await withCountedSignal { first in
                // On a thread of its own: each yield on the pool of tasks waits for those of all other suites.
                let rounds = await withCheckedContinuation { continuation in
                    let hasThread = SystemThread.make("test-signals") {
                        var rounds = 0
                        while rounds < 200, Self.meetsBoth(rounds + 1, first, second) { rounds += 1 }
                        continuation.resume(returning: rounds)
                    }
                    if !hasThread { continuation.resume(returning: 0) }
                }
                #expect(rounds == 200)
                #expect(first() == 200)
                #expect(second() == 200)
                #expect(!TerminationFlush.isPending)
            }
        }
    }

    /// - Returns: false when one of both has not been sent on within 30 seconds.
    private static func meetsBoth(_ round: Int, _ first: () -> Int, _ second: () -> Int) -> Bool {
        let deadline = ContinuousClock.now + .seconds(30)
        var flush: TerminationFlush?
        repeat {
            flush = try? TerminationFlush([], signals: [SIGUSR2])
            if flush == nil { sched_yield() }
        } while flush == nil && .now < deadline
        guard let flush else { return false }
        let note = unsafeBitCast(handler, to: (@convention(c) (Int32) -> Void).self)
        note(SIGUSR2)
        while TerminationFlush.isPending, .now < deadline {}
        note(SIGURG)
        while first() < round || second() < round, .now < deadline { sched_yield() }
        withExtendedLifetime(flush) {}
        return first() == round && second() == round
    }

    /// Somebody else handles the signal, and counts.
    private func withCountedSignal(_ signal: Int32 = SIGUSR2, _ body: (@escaping @Sendable () -> Int) async throws -> Void) async throws {
        let count: @Sendable () -> Int = {
            signal == SIGUSR2 ? signals.load(ordering: .sequentiallyConsistent) : others.load(ordering: .sequentiallyConsistent)
        }
        signals.store(0, ordering: .sequentiallyConsistent)
        others.store(0, ordering: .sequentiallyConsistent)
        var (action, former) = (sigaction(), sigaction())
        action.__sigaction_handler.sa_handler = { signal in
            if signal == SIGUSR2 {
                signals.add(1, ordering: .sequentiallyConsistent)
            } else {
                others.add(1, ordering: .sequentiallyConsistent)
            }
        }
        sigaction(signal, &action, &former)
        try await body(count)
        sigaction(signal, &former, nil)
    }
}

private let signals = Atomic(0)
private let others = Atomic(0)
