#if DEBUG
import CleanSlate
import FoundationEssentials
import HTTPTypes
import ScopedNet
import ScopedNetTesting
import Synchronization
import SystemSupport
import Testing

@testable import ScopedNetImages

/// A load that ends at one of its steps, from inside the thread that takes it: nothing follows, and nothing stays (G5, G8, G9, G12).
@Suite(.leavesNothing, .noLeaks, .timeLimit(.minutes(3))) struct ImageStepTests {
    /// The ways in which a load ends before its picture is there.
    enum Ending: CaseIterable, Sendable { case cancel, bag, tag, receipt, agent, task }

    /// A view with its load.
    @MainActor private final class Owner: RequestOwner {
        nonisolated let deallocBag = DeallocBag()
        private let calls: ImageLog
        nonisolated init(_ calls: ImageLog) { self.calls = calls }
        func show() { calls.add("owner") }
    }

    /// A value that a test and the visitor of a step share.
    private final class Slot<Value: Sendable>: Sendable {
        private let lock: Lock<Value>
        init(_ value: Value) { lock = Lock(value) }
        var value: Value { lock.withLock { $0 } }

        /// The old value is let go outside the lock.
        @discardableResult
        func set(_ value: Value) -> Value {
            lock.withLock { old in
                defer { old = value }
                return old
            }
        }
    }

    private struct Blank: ImageProcessing {
        let identifier = "blank"
        func process(_ image: DecodedImage, limits: ImageLimits) -> DecodedImage { image }
    }

    private static var request: ImageRequest {
        var request = ImageRequest("a.bmp", size: PixelSize(8, 8), processors: [Blank(), Blank()])
        request.tag = "pictures"
        return request
    }

    /// Does something once, when the load with that number comes by the step.
    private func at(_ step: Step, of number: Slot<UInt64>, _ act: @escaping @Sendable () -> Void) -> Int {
        let hasActed = Slot(false)
        return StepDoor.add { taken, current in
            guard taken == step, current == number.value, !hasActed.set(true) else { return }
            act()
        }
    }

    private func call(_ test: ImageLoading, _ log: ImageLog) -> ImageCall {
        test.images.load(Self.request)
            .onSuccess { _ in log.add("success") }
            .onFailure { log.add("failure \($0)") }
            .onProgress { _ in }
            .onEnd { outcome in if case .cancelled = outcome { log.add("cancelled") } else { log.add("end") } }
    }

    @Test(arguments: [Step.pictureDecoding, .pictureProcessing, .pictureMade], Ending.allCases)
    func nothingFollowsTheEnd(step: Step, ending: Ending) async throws {
        let (test, log) = (ImageLoading(), ImageLog())
        let (number, bag, receipt) = (Slot<UInt64>(0), Slot<DeallocBag?>(DeallocBag()), Slot<ImageReceipt?>(nil))
        let task = Slot<Task<Void, Never>?>(nil)
        let hits = Atomic<Int>(0)
        let load = bag.value.map { call(test, log).begin(in: ending == .bag ? $0 : nil) }
        number.set(load?.number ?? 0)
        if ending == .receipt { receipt.set(load.map(ImageReceipt.init)) }
        if ending == .task, let load {
            task.set(
                Task {
                    await withTaskCancellationHandler {
                        _ = await load.operation.outcome()
                    } onCancel: {
                        load.operation.cancel()
                    }
                })
        }
        let visitor = at(step, of: number) {
            hits.add(1, ordering: .relaxed)
            switch ending {
            case .cancel: load?.operation.cancel()
            case .bag: bag.set(nil)
            case .tag: test.session.agent.cancelAll(tag: "pictures")
            case .receipt: receipt.set(nil)
            case .agent: test.session.agent.cancelAll()
            case .task: task.value?.cancel()
            }
        }
        await test.mock.waitForExchanges(1)
        test.mock.exchanges[0].respond(ImageLoading.reply(ImageLoading.bitmap(64, 64)))
        _ = await load?.operation.outcome()
        await test.session.agent.waitUntilIdle()
        // Its decoding is on its way out for a moment more.
        while test.images.activity.decodings > 0 || test.images.waiterCount > 0 { await Task.yield() }
        StepDoor.remove(visitor)
        bag.set(nil)
        #expect(hits.load(ordering: .relaxed) == 1 && log.all == ["cancelled"])
        #expect(test.images.memory.count == 0)
        await test.end()
    }

    @MainActor private func begin(for owner: Owner, _ test: ImageLoading) -> ImageLoad {
        test.images.load(Self.request).onSuccess(for: owner) { owner, _ in owner.show() }.begin(in: owner.deallocBag)
    }

    /// G9: an owner that goes while its picture is made is not called, and what others want is made all the same.
    @Test(arguments: [Step.pictureDecoding, .pictureProcessing, .pictureMade]) func anOwnerThatGoesIsNotCalled(step: Step) async throws {
        let (test, log, number) = (ImageLoading(), ImageLog(), Slot<UInt64>(0))
        let owner = Slot<Owner?>(Owner(log))
        let first = await begin(for: owner.value ?? Owner(log), test)
        number.set(first.number)
        async let other = test.images.image(Self.request)
        while test.images.waiterCount < 2 { await Task.yield() }
        let visitor = at(step, of: number) { owner.set(nil) }
        await test.mock.waitForExchanges(1)
        test.mock.exchanges[0].respond(ImageLoading.reply(ImageLoading.bitmap(64, 64)))
        #expect(try await other.width == 8)
        StepDoor.remove(visitor)
        #expect(owner.value == nil && log.all.isEmpty && test.mock.exchanges.count == 1)
        await test.end()
    }

    /// G7: closures are let go outside of locks, wherever the load is; one that starts another load in its deinit finds the loader free.
    @Test(arguments: [Step.pictureDecoding, .pictureProcessing, .pictureMade]) func aClosureThatGoesMayStartAnother(step: Step) async throws
    {
        final class Last: Sendable {
            let act: @Sendable () -> Void
            init(_ act: @escaping @Sendable () -> Void) { self.act = act }
            deinit { act() }
        }
        let (test, number, next) = (ImageLoading(), Slot<UInt64>(0), Slot<ImageReceipt?>(nil))
        let load = { [images = test.images] in
            let last = Last { [images] in
                let receipt = images.load("b.bmp").start()
                next.set(receipt)
            }
            return images.load(Self.request).onSuccess { _ in _ = last }.begin(in: nil)
        }()
        number.set(load.number)
        let visitor = at(step, of: number) { load.operation.cancel() }
        await test.mock.waitForExchanges(1)
        test.mock.exchanges[0].respond(ImageLoading.reply(ImageLoading.bitmap(64, 64)))
        await test.mock.waitForExchanges(2)
        test.mock.exchanges[1].respond(ImageLoading.reply(ImageLoading.bitmap()))
        let second = try #require(next.value)
        _ = await second.operation.outcome()
        StepDoor.remove(visitor)
        next.set(nil)
        await test.end()
    }
}
#endif
