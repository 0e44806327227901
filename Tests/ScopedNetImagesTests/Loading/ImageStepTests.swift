#if DEBUG
import CleanSlate
import FoundationEssentials
import HTTPTypes
import ScopedNet
import ScopedNetTesting
import SystemSupport
import Testing

@testable import ScopedNetImages

/// A load over the network that ends at one of its steps, from inside the thread that takes it: nothing follows, and nothing stays (G5, G8, G9, G12).
@Suite(.leavesNothing, .noLeaks, .timeLimit(.minutes(3))) struct ImageStepTests {
    /// A view with its load.
    @MainActor private final class Owner: RequestOwner {
        nonisolated let deallocBag = DeallocBag()
        private let calls: ImageLog
        nonisolated init(_ calls: ImageLog) { self.calls = calls }
        func show() { calls.add("owner") }
    }

    /// Those of a progressive picture go on to a preview, and only its beginning is sent until then.
    private static let steps: [Step] = {
        #if Images
        [.pictureDecoding, .pictureProcessing, .pictureMade, .pictureShown]
        #else
        [.pictureDecoding, .pictureProcessing, .pictureMade]
        #endif
    }()

    private func request(_ step: Step) -> ImageRequest {
        let blank = BlankProcessor()
        var request = ImageRequest(
            step == .pictureShown ? "a.jpg" : "a.bmp", size: PixelSize(8, 8), processors: [blank, blank])
        request.tag = EndedLoad.tag
        return request
    }

    private func loading() -> ImageLoading { ImageLoading { $0.previewInterval = .zero } }

    /// Sends the file that makes a load come by the step; of a progressive one no more than a preview takes.
    private func answer(_ exchange: MockExchange, for step: Step) throws {
        guard step == .pictureShown else { return exchange.respond(ImageLoading.reply(ImageLoading.bitmap(64, 64))) }
        #if Images
        let data = try CodecSamples.file("progressive.jpg")
        exchange.receiveHead(headers: [.contentLength: "\(data.count)"])
        exchange.receive(data.prefix(data.count * 3 / 4))
        #endif
    }

    /// Sends the rest of a file.
    private func complete(_ exchange: MockExchange, for step: Step) throws {
        #if Images
        guard step == .pictureShown else { return }
        let data = try CodecSamples.file("progressive.jpg")
        exchange.receive(data.dropFirst(data.count * 3 / 4))
        exchange.finish()
        #endif
    }

    private func call(_ test: ImageLoading, _ step: Step, _ log: ImageLog) -> ImageCall {
        test.images.load(request(step))
            .onSuccess { _ in log.add("success") }
            .onFailure { log.add("failure \($0)") }
            .onPreview { _ in log.add("preview") }
            .onProgress { _ in }
            .onEnd { outcome in if case .cancelled = outcome { log.add("cancelled") } else { log.add("end") } }
    }

    @Test(arguments: steps, ImageEnding.allCases)
    func nothingFollowsTheEnd(step: Step, ending: ImageEnding) async throws {
        let (test, log) = (loading(), ImageLog())
        let ended = EndedLoad(call(test, step, log), by: ending, of: test.session)
        let visitor = ended.end(at: step)
        await test.mock.waitForExchanges(1)
        try answer(test.mock.exchanges[0], for: step)
        _ = await ended.load.operation.outcome()
        await test.session.agent.waitUntilIdle()
        // Its decoding is on its way out for a moment more.
        await eventually(within: .seconds(60)) { test.images.activity.isIdle && test.images.waiterCount == 0 }
        StepDoor.remove(visitor)
        #expect(ended.endings == 1 && log.all == ["cancelled"])
        #expect(test.images.memory.count == 0 && test.images.arrivedBytes == 0)
        // Half of a file that is wanted no more is not waited for.
        if step == .pictureShown { #expect(test.mock.exchanges[0].isCancelled) }
        await test.end()
    }

    @MainActor private func begin(for owner: Owner, _ test: ImageLoading, _ step: Step) -> ImageLoad {
        test.images.load(request(step))
            .onPreview(for: owner) { owner, _ in owner.show() }
            .onSuccess(for: owner) { owner, _ in owner.show() }
            .begin(in: owner.deallocBag)
    }

    /// G9: an owner that goes while its picture is made is not called, and what others want is made all the same.
    @Test(arguments: steps) func anOwnerThatGoesIsNotCalled(step: Step) async throws {
        let (test, log) = (loading(), ImageLog())
        let owner = Slot<Owner?>(Owner(log))
        let first = await begin(for: owner.value ?? Owner(log), test, step)
        async let other = test.images.image(request(step))
        await eventually(within: .seconds(60)) { test.images.waiterCount == 2 }
        let (hasGone, number) = (Slot(false), first.number)
        let visitor = StepDoor.add { taken, current in
            guard taken == step, current == number else { return }
            owner.set(nil)
            hasGone.set(true)
        }
        await test.mock.waitForExchanges(1)
        try answer(test.mock.exchanges[0], for: step)
        await eventually(within: .seconds(60)) { hasGone.value }
        try complete(test.mock.exchanges[0], for: step)
        #expect(try await other.width == 8)
        StepDoor.remove(visitor)
        #expect(owner.value == nil && log.all.isEmpty && test.mock.exchanges.count == 1)
        await test.end()
    }

    /// G7: closures are let go outside of locks, wherever the load is; one that starts another load in its deinit finds the loader free.
    @Test(arguments: steps) func aClosureThatGoesMayStartAnother(step: Step) async throws {
        final class Last: Sendable {
            let act: @Sendable () -> Void
            init(_ act: @escaping @Sendable () -> Void) { self.act = act }
            deinit { act() }
        }
        let (test, next) = (loading(), Slot<ImageReceipt?>(nil))
        let load = { [images = test.images] in
            let last = Last { [images] in
                let receipt = images.load("b.bmp").start()
                next.set(receipt)
            }
            return images.load(request(step)).onPreview { _ in _ = last }.onSuccess { _ in _ = last }.begin(in: nil)
        }()
        let visitor = StepDoor.add { taken, current in
            if taken == step, current == load.number { load.operation.cancel() }
        }
        await test.mock.waitForExchanges(1)
        try answer(test.mock.exchanges[0], for: step)
        await test.mock.waitForExchanges(2)
        test.mock.exchanges[1].respond(ImageLoading.reply(ImageLoading.bitmap()))
        // The exchange may be there before the call that starts it has returned.
        await eventually(within: .seconds(60)) { next.value != nil }
        let second = try #require(next.value)
        _ = await second.operation.outcome()
        StepDoor.remove(visitor)
        next.set(nil)
        await test.end()
    }
}
#endif
