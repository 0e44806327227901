import CleanSlate
import ScopedNet
import ScopedNetImages
import ScopedNetTesting
import Testing

/// Reports about loads that are under way.
@Suite(.leavesNothing, .timeLimit(.minutes(3))) struct ImageLeakTests {
    /// The transfer below a load is the loader's: nothing that is said about runs and their closures would help.
    @Test func theAdviceIsAboutTheLoadAndNotItsTransfer() async {
        let test = ImageLoading()
        let census = LeakCensus()
        await census.listen {
            let receipt = test.images.load("a.bmp").onSuccess { _ in }.start()
            await test.mock.waitForExchanges(1)
            let report = census.report()
            #expect(report.leaks.contains { $0.kind == .run } && report.leaks.contains { $0.kind == .operation })
            #expect(report.advice.contains { $0.hasPrefix("An operation holds its callbacks") })
            let isOfTheTransfer = report.advice.contains { $0.hasPrefix("A closure holds") || $0.hasPrefix("A run that is in no bag") }
            #expect(!isOfTheTransfer, "\(report.advice)")
            withExtendedLifetime(receipt) {}
        }
        await test.end()
    }
}
