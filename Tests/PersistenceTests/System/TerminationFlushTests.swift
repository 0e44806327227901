import CleanSlate
import FoundationEssentials
import Glibc
import Testing

@testable import Persistence

/// In this process, with a signal nobody else uses; what SIGTERM does is shown by `ProcessTests`.
@Suite(.leavesNothing, .serialized) struct TerminationFlushTests {
    let folder = TestFolder()

    /// The thread of a former one may still be on its way out.
    private func install(_ stores: [Store]) async -> TerminationFlush {
        while true {
            if let flush = try? TerminationFlush(stores, signals: [SIGUSR2]) { return flush }
            await Task.yield()
        }
    }

    private var handler: Int {
        var action = sigaction()
        sigaction(SIGUSR2, nil, &action)
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
    }

    @Test func thereIsOneAndItPutsBackWhatWas() async throws {
        let former = handler
        let store = Store(folder.configuration())
        do {
            let flush = await install([store])
            #expect(handler != former)
            let error = #expect(throws: StoreError.self) { try TerminationFlush([], signals: [SIGUSR2]) }
            #expect(error?.code == .unavailable)
            withExtendedLifetime(flush) {}
        }
        #expect(handler == former)
        let again = await install([store])
        withExtendedLifetime(again) {}
        await store.close()
    }
}
