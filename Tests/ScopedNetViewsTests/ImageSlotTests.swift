import CleanSlate
import Dispatch
import FoundationEssentials
import HTTPTypes
import ScopedNet
import ScopedNetTesting
import ScopedNetViews
import SystemSupport
import Testing

@testable import ScopedNetImages

/// The picture of one view: what is shown at which moment, and what is called.
@MainActor @Suite(.leavesNothing, .noLeaks, .timeLimit(.minutes(3))) struct ImageSlotTests {
    /// UI-1, defect 42: a row that is used again does not show the picture of another.
    @Test func thePlaceholderIsShownUntilThePictureComes() async throws {
        let test = ViewTest()
        let view = PictureView(test.images)
        view.slot?.bind(ImageBinding("a.bmp"))
        #expect(view.log == ["none"] && view.slot?.isLoading == true)
        await test.mock.exchange(0).respond(ViewTest.reply(red: 7))
        await test.settle()
        #expect(view.log == ["none", "7"] && view.slot?.isLoading == false)
        view.slot?.bind(ImageBinding("b.bmp", placeholder: .keep))
        #expect(view.log.count == 2)
        view.slot?.bind(ImageBinding("c.bmp", placeholder: .placeholder(try ViewTest.image(red: 1))))
        #expect(view.log == ["none", "7", "1"])
        view.slot?.cancel()
        await test.end()
    }

    /// UI-1.
    @Test func anotherPictureCancelsTheOneBefore() async throws {
        let test = ViewTest()
        let view = PictureView(test.images)
        view.slot?.bind(ImageBinding("a.bmp", onSuccess: { view, _ in view.note("a") }, onFailure: { view, _ in view.note("a failed") }))
        let first = await test.mock.exchange(0)
        view.slot?.bind(ImageBinding("b.bmp"))
        let second = await test.mock.exchange(1)
        await eventually { first.isCancelled }
        first.respond(ViewTest.reply(red: 1))
        second.respond(ViewTest.reply(red: 2))
        await test.settle()
        #expect(view.log == ["none", "none", "2"])
        await test.end()
    }

    /// A view that has another size now does not fetch the file again. UI-1.
    @Test func anotherSizeOfAFileKeepsItsTransfer() async throws {
        let test = ViewTest()
        let view = PictureView(test.images)
        view.slot?.bind(ImageBinding(ImageRequest("a.bmp", size: PixelSize(2, 2))))
        await test.mock.waitForExchanges(1)
        view.slot?.bind(ImageBinding(ImageRequest("a.bmp", size: PixelSize(3, 3)), placeholder: .keep))
        await eventually { test.images.fileWaiters == 2 }
        #expect(!test.mock.exchanges[0].isCancelled)
        await test.mock.exchange(0).respond(ViewTest.reply(red: 1, 8, 8))
        await test.settle()
        #expect(view.log == ["none", "1"] && test.mock.exchanges.count == 1)
        await test.end()
    }

    /// A result that was on its way to the main actor when another picture was asked for is not shown. UI-1.
    @Test func aStaleResultIsDropped() async throws {
        let test = ViewTest(unanswered: .fail)
        test.mock.on("a.bmp", ViewTest.reply(red: 1, cacheControl: "no-store"))
        test.mock.on("b.bmp", ViewTest.reply(red: 2, cacheControl: "no-store"))
        for round in 0..<50 {
            let view = PictureView(test.images)
            view.slot?.bind(ImageBinding("a.bmp", placeholder: .keep))
            for _ in 0..<round { await Task.yield() }
            view.slot?.bind(ImageBinding("b.bmp", placeholder: .keep))
            let shown = view.log.count
            await test.settle()
            #expect(view.log.dropFirst(shown) == ["2"])
        }
        await test.end()
    }

    /// Defect 42: the closures of the second binding were dropped. UI-1.
    @Test func theSamePictureGoesOnForTheNewClosures() async throws {
        let test = ViewTest()
        let view = PictureView(test.images)
        view.slot?.bind(ImageBinding("a.bmp", onSuccess: { view, _ in view.note("first") }))
        await test.mock.waitForExchanges(1)
        view.slot?.bind(
            ImageBinding("a.bmp", placeholder: .clear, onSuccess: { view, response in view.note("second \(response.image.red)") }))
        #expect(view.log == ["none"])
        test.mock.exchanges[0].respond(ViewTest.reply(red: 3))
        await test.settle()
        #expect(view.log == ["none", "second 3"] && test.mock.exchanges.count == 1)
        await test.end()
    }

    /// UI-1.
    @Test func aPictureInMemoryIsShownAtOnce() async throws {
        let test = ViewTest(unanswered: .fail)
        test.mock.on("a.bmp", ViewTest.reply(red: 4))
        _ = try await test.images.image("a.bmp")
        let view = PictureView(test.images)
        view.slot?.bind(ImageBinding("a.bmp"))
        #expect(view.log == ["4"] && view.slot?.isLoading == false)
        var sources: [ImageResponse.Source] = []
        view.slot?.bind(ImageBinding("a.bmp", onSuccess: { _, response in sources.append(response.source) }))
        #expect(view.log == ["4"] && sources == [.memory])
        #expect(test.mock.exchanges.count == 1)
        await test.end()
    }

    /// A hit in memory replaces a load that runs. UI-1.
    @Test func aPictureInMemoryCancelsTheLoadBefore() async throws {
        let test = ViewTest()
        test.mock.on("a.bmp", ViewTest.reply(red: 4))
        _ = try await test.images.image("a.bmp")
        let view = PictureView(test.images)
        view.slot?.bind(ImageBinding("b.bmp"))
        let other = await test.mock.exchange(1)
        view.slot?.bind(ImageBinding("a.bmp"))
        #expect(view.log == ["none", "4"])
        await eventually { other.isCancelled }
        await test.end()
        #expect(view.log == ["none", "4"])
    }

    /// UI-1.
    @Test func aStalePictureIsShownAndAskedForAgain() async throws {
        let test = ViewTest(unanswered: .fail)
        test.mock.on("a.bmp", [ViewTest.reply(red: 5, cacheControl: "max-age=0"), ViewTest.reply(red: 6)])
        _ = try await test.images.image("a.bmp")
        let view = PictureView(test.images)
        view.slot?.bind(ImageBinding("a.bmp"))
        #expect(view.log == ["5"] && view.slot?.isLoading == true)
        await test.settle()
        #expect(view.log == ["5", "6"])
        await test.end()
    }

    /// UI-1.
    @Test func theClosureIsHandedAStalePictureToo() async throws {
        let test = ViewTest(unanswered: .fail)
        test.mock.on("a.bmp", [ViewTest.reply(red: 5, cacheControl: "max-age=0"), ViewTest.reply(red: 6)])
        _ = try await test.images.image("a.bmp")
        let view = PictureView(test.images)
        view.slot?.bind(ImageBinding("a.bmp", onSuccess: { view, response in view.note("closure \(response.image.red)") }))
        #expect(view.log == ["closure 5"])
        await test.settle()
        #expect(view.log == ["closure 5", "closure 6"])
        await test.end()
    }

    #if Images
    /// The part of a picture that came gives way to the placeholder where the rest does not. UI-1.
    @Test(arguments: [true, false]) func aPreviewIsNoPicture(isWhole: Bool) async throws {
        let test = ViewTest()
        let view = PictureView(test.images)
        let placeholder = try ViewTest.image(red: 9)
        var binding = ImageBinding<PictureView>(
            "a.jpg", placeholder: .placeholder(placeholder), onFailure: { view, _ in view.note("failed") })
        binding.onProgress = { view, progress in if progress.completed > 0 { view.note("progress") } }
        view.slot?.bind(binding)
        let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "ScopedNetImagesTests/Fixtures/Codecs/progressive.jpg")
        let data = try Data(contentsOf: file)
        let exchange = await test.mock.exchange(0)
        exchange.receiveHead(headers: [.contentLength: "\(data.count)"])
        exchange.receive(data.prefix(data.count * 3 / 4))
        exchange.reportReceived(Int64(data.count * 3 / 4), of: Int64(data.count))
        await eventually { view.log.contains { $0.hasPrefix("preview ") } && view.log.contains("progress") }
        if isWhole { exchange.receive(data.suffix(from: data.count * 3 / 4)) }
        if isWhole { exchange.finish() } else { exchange.fail() }
        await test.settle()
        let rest = view.log.drop { $0 == "9" }.filter { $0 != "progress" && !$0.hasPrefix("preview ") }
        #expect(isWhole ? rest.count == 1 && rest != ["failed"] : rest == ["9", "failed"], "\(view.log)")
        await test.end()
    }
    #endif

    /// UI-1.
    @Test func theClosureForSuccessTakesThePlaceOfShowing() async throws {
        let test = ViewTest(unanswered: .fail)
        test.mock.on("a.bmp", ViewTest.reply(red: 4))
        let view = PictureView(test.images)
        view.slot?.bind(ImageBinding("a.bmp", onSuccess: { view, response in view.note("closure \(response.image.red)") }))
        await test.settle()
        #expect(view.log == ["none", "closure 4"])
        await test.end()
    }

    /// UI-1.
    @Test func aFailureLeavesThePlaceholder() async throws {
        let test = ViewTest(unanswered: .fail)
        test.mock.on("a.bmp", .status(404))
        let view = PictureView(test.images)
        let placeholder = try ViewTest.image(red: 9)
        view.slot?.bind(
            ImageBinding("a.bmp", placeholder: .placeholder(placeholder), onFailure: { view, error in view.note("\(error.isCancelled)") }))
        await test.settle()
        #expect(view.log == ["9", "false"] && view.slot?.isLoading == false)
        await test.end()
    }

    /// Defect 43: of two contracts for an own cancel this is the one. UI-1.
    @Test func anExplicitCancelIsSilent() async throws {
        let test = ViewTest()
        let view = PictureView(test.images)
        var binding = ImageBinding<PictureView>("a.bmp", onSuccess: { view, _ in view.note("success") })
        binding.onFailure = { view, _ in view.note("failure") }
        binding.onProgress = { view, _ in view.note("progress") }
        view.slot?.bind(binding)
        let exchange = await test.mock.exchange(0)
        view.slot?.cancel()
        #expect(view.slot?.isLoading == false && view.slot?.request == nil)
        await eventually { exchange.isCancelled }
        await test.end()
        #expect(view.log == ["none"])
    }

    /// Defect 42: without a URL the load before went on, and replaced the placeholder later. UI-1.
    @Test func noURLCancelsAndShowsThePlaceholder() async throws {
        let test = ViewTest()
        let view = PictureView(test.images)
        view.slot?.bind(ImageBinding("a.bmp", onFailure: { view, _ in view.note("failure") }))
        let exchange = await test.mock.exchange(0)
        view.slot?.bind(
            ImageBinding(nil, placeholder: .placeholder(try ViewTest.image(red: 8)), onFailure: { view, _ in view.note("no URL") }))
        await eventually { exchange.isCancelled }
        await test.end()
        #expect(view.log == ["none", "8"])
    }

    /// UI-1.
    @Test func theRequestAcceptsPictures() async throws {
        let test = ViewTest()
        let view = PictureView(test.images)
        view.slot?.bind(ImageBinding("a.bmp"))
        let exchange = await test.mock.exchange(0)
        #expect(exchange.headers[.accept]?.contains("image/") == true)
        view.slot?.cancel()
        await test.end()
    }

    /// The loader is handed to the slot: one for all views, or another for some. UI-7.
    @Test func eachSlotHasTheLoaderItWasGiven() async throws {
        let (test, other) = (ViewTest(), ViewTest())
        let view = PictureView(test.images)
        let elsewhere = PictureView(other.images)
        view.slot?.bind(ImageBinding("a.bmp"))
        elsewhere.slot?.bind(ImageBinding("a.bmp"))
        await test.mock.exchange(0).respond(ViewTest.reply(red: 1))
        await other.mock.exchange(0).respond(ViewTest.reply(red: 2))
        await test.end()
        await other.end()
        #expect(view.log == ["none", "1"] && elsewhere.log == ["none", "2"])
    }

    /// A view may ask for another picture while it is told of one. UI-1.
    @Test func theViewMayAskForAnotherPictureMeanwhile() async throws {
        let test = ViewTest()
        test.mock.on("b.bmp", ViewTest.reply(red: 2))
        let view = PictureView(test.images)
        view.onDisplay = { [weak view] in
            view?.onDisplay = nil
            view?.slot?.bind(ImageBinding("b.bmp", placeholder: .keep))
        }
        view.slot?.bind(ImageBinding("a.bmp"))
        await test.settle()
        #expect(view.log == ["none", "2"] && test.mock.exchanges.map(\.path) == ["/b.bmp"])
        await test.end()
    }
}

/// The ends of bindings: views, slots and bags that go.
@MainActor @Suite(.leavesNothing, .noLeaks, .timeLimit(.minutes(3))) struct ImageSlotLifetimeTests {
    /// The log of a view that is gone.
    @MainActor private final class Witness {
        var log: [String] = []
    }

    /// UI-1.
    @Test func aViewThatDiesEndsItsLoad() async throws {
        let test = ViewTest()
        let witness = Witness()
        var view: PictureView? = PictureView(test.images)
        view?.onDisplay = { witness.log.append("shown") }
        view?.slot?.bind(
            ImageBinding(
                "a.bmp", onSuccess: { _, _ in witness.log.append("success") }, onFailure: { _, _ in witness.log.append("failure") }))
        let exchange = await test.mock.exchange(0)
        weak let gone = view
        view = nil
        #expect(gone == nil)
        await eventually { exchange.isCancelled }
        await test.end()
        #expect(witness.log == ["shown"])
    }

    /// A closure that holds its view makes no lasting cycle.
    @Test func closuresAreDestroyedAtTheEnd() async throws {
        let test = ViewTest()
        for (number, path) in ["a.bmp", "cancelled.bmp", "replaced.bmp", "ended.bmp"].enumerated() {
            weak var gone: PictureView?
            do {
                let view = PictureView(test.images)
                gone = view
                view.slot?.bind(ImageBinding(ImageRequest(path), onSuccess: { [view] _, _ in view.note("success") }))
                let exchange = await test.mock.exchange(number)
                switch path {
                case "cancelled.bmp": view.slot?.cancel()
                case "replaced.bmp": view.slot?.bind(ImageBinding(nil))
                case "ended.bmp": view.bag.end()
                default: exchange.respond(ViewTest.reply(red: 1))
                }
            }
            await test.settle()
            #expect(gone == nil, "\(path)")
        }
        await test.end()
    }

    @Test func aBagEndsItsSlotsForGood() async throws {
        let test = ViewTest()
        let view = PictureView(test.images)
        view.slot?.bind(ImageBinding("a.bmp"))
        let exchange = await test.mock.exchange(0)
        view.bag.end()
        await eventually { exchange.isCancelled }
        view.slot?.bind(ImageBinding("b.bmp"))
        await test.end()
        #expect(view.log == ["none"] && test.mock.exchanges.count == 1 && view.slot?.isLoading == false)
    }

    @Test func aSlotLeavesItsBag() async throws {
        let test = ViewTest()
        let (bag, view) = (DeallocBag(), PictureView())
        for _ in 0..<10 { _ = ImageSlot(for: view, loader: test.images, in: bag) }
        #expect(bag.count == 0)
        bag.insert(ImageSlot(for: view, loader: test.images))
        #expect(bag.count == 1)
        bag.end()
        await test.end()
    }

    @Test func manySizesOfAFileLeaveNothing() async throws {
        let test = ViewTest()
        let view = PictureView(test.images)
        for side in 1...1_000 { view.slot?.bind(ImageBinding(ImageRequest("a.bmp", size: PixelSize(side, side)), placeholder: .keep)) }
        await test.mock.waitForExchanges(1)
        #expect(test.images.waiterCount <= 2)
        view.slot?.cancel()
        await test.end()
        #expect(view.log.isEmpty && test.images.waiterCount == 0)
    }

    /// Cancels and ends of bags may come on any thread, at any moment of a binding.
    @Test func cancelsOnOtherThreadsLeaveNothing() async throws {
        let test = ViewTest(unanswered: .fail)
        for number in 0..<4 { test.mock.on("\(number).bmp", ViewTest.reply(red: UInt8(number), cacheControl: "no-store")) }
        for _ in 0..<40 {
            let view = PictureView(test.images)
            let (slot, bag) = (try #require(view.slot), view.bag)
            async let cancels: Void = cancel(slot, 20)
            for number in 0..<20 {
                slot.bind(ImageBinding(ImageRequest("\(number % 4).bmp"), placeholder: .keep))
                if number.isMultiple(of: 5) { await Task.yield() }
            }
            await cancels
            await end(bag)
            #expect(!slot.isLoading)
            let shown = view.log
            await test.settle()
            #expect(view.log == shown)
        }
        await test.end()
    }

    @concurrent private func cancel(_ slot: ImageSlot<PictureView>, _ count: Int) async {
        for _ in 0..<count {
            slot.cancel()
            await Task.yield()
        }
    }

    @concurrent private func end(_ bag: DeallocBag) async { bag.end() }

    /// The closures of a slot are destroyed where what they have captured belongs, whoever cancels.
    @Test(arguments: [true, false]) func closuresAreDestroyedOnTheMainActor(isCancelled: Bool) async throws {
        let test = ViewTest()
        let (view, death) = (PictureView(test.images), Death())
        let slot = try #require(view.slot)
        bind(slot, Captured(death))
        await test.mock.waitForExchanges(1)
        if isCancelled { await cancel(slot, 1) } else { await end(view.bag) }
        await eventually { death.isOnMainQueue != nil }
        #expect(death.isOnMainQueue == true)
        await test.end()
    }

    private func bind(_ slot: ImageSlot<PictureView>, _ captured: Captured) {
        slot.bind(ImageBinding("a.bmp", onSuccess: { _, _ in withExtendedLifetime(captured) {} }))
    }

    @Test func bindingAgainAndAgainLeavesNothing() async throws {
        let test = ViewTest(unanswered: .fail)
        test.mock.on("last.bmp", ViewTest.reply(red: 3))
        let view = PictureView(test.images)
        for round in 0..<500 { view.slot?.bind(ImageBinding(ImageRequest("\(round).bmp"), placeholder: .keep)) }
        view.slot?.bind(ImageBinding("last.bmp", placeholder: .keep))
        await test.settle()
        #expect(view.log == ["3"])
        await test.end()
    }
}

/// The pictures of a control.
@MainActor @Suite(.leavesNothing, .noLeaks, .timeLimit(.minutes(3))) struct StatefulImageSlotsTests {
    /// UI-2.
    @Test func eachStateAndLayerLoadsForItself() async throws {
        let test = ViewTest(unanswered: .fail)
        let button = ButtonView()
        let slots = StatefulImageSlots(for: button, loader: test.images)
        let states: [ControlState] = [.normal, .highlighted, .selected, .disabled]
        for (number, state) in states.enumerated() {
            for layer in ControlLayer.allCases {
                let red = UInt8(number + (layer == .image ? 10 : 20))
                test.mock.on("\(red).bmp", ViewTest.reply(red: red))
                slots.bind(ImageBinding(ImageRequest("\(red).bmp"), placeholder: .keep), for: state, on: layer)
                #expect(slots.isLoading(for: state, on: layer))
            }
        }
        await test.settle()
        let expected = ["image 0: 10", "image 1: 11", "image 2: 12", "image 4: 13", "background 0: 20", "background 1: 21"]
        #expect(Set(button.log) == Set(expected + ["background 2: 22", "background 4: 23"]) && button.log.count == 8)
        await test.end()
    }

    /// UI-2.
    @Test func eachSlotIsCancelledForItself() async throws {
        let test = ViewTest()
        let button = ButtonView()
        let slots = StatefulImageSlots(for: button, loader: test.images)
        slots.bind(ImageBinding("a.bmp", placeholder: .keep))
        let normal = await test.mock.exchange(0)
        slots.bind(ImageBinding("b.bmp", placeholder: .keep), for: .selected)
        let selected = await test.mock.exchange(1)
        slots.bind(ImageBinding("c.bmp", placeholder: .keep), for: .selected, on: .background)
        let background = await test.mock.exchange(2)
        slots.cancel(for: .selected)
        await eventually { selected.isCancelled }
        #expect(!normal.isCancelled && !background.isCancelled)
        normal.respond(ViewTest.reply(red: 1))
        background.respond(ViewTest.reply(red: 3))
        await test.settle()
        #expect(Set(button.log) == ["image 0: 1", "background 2: 3"])
        slots.bind(ImageBinding("d.bmp", placeholder: .keep))
        slots.cancel()
        #expect(!slots.isLoading())
        await test.end()
    }

    /// UI-2.
    @Test func combinationsShareTheSlotOfNormal() async throws {
        let test = ViewTest()
        let button = ButtonView()
        let slots = StatefulImageSlots(for: button, loader: test.images)
        slots.bind(ImageBinding("a.bmp", placeholder: .keep))
        let normal = await test.mock.exchange(0)
        slots.bind(ImageBinding("b.bmp", placeholder: .keep), for: [.selected, .highlighted])
        await eventually { normal.isCancelled }
        await test.mock.exchange(1).respond(ViewTest.reply(red: 2))
        await test.settle()
        #expect(button.log == ["image 3: 2"])
        await test.end()
    }
}

/// The queue on which something was destroyed. The main queue has no thread of its own behind `dispatchMain()`.
private final class Death: Sendable {
    // Safety: an address alone, which is set once and compared.
    nonisolated(unsafe) private let key = DispatchSpecificKey<Bool>()
    private let place = Lock<Bool?>(nil)
    var isOnMainQueue: Bool? { place.withLock { $0 } }

    init() { DispatchQueue.main.setSpecific(key: key, value: true) }

    func note() {
        let isMain = DispatchQueue.getSpecific(key: key) == true
        place.withLock { $0 = isMain }
    }
}

/// Captured by a closure of the main actor.
private final class Captured: Sendable {
    private let death: Death
    init(_ death: Death) { self.death = death }
    deinit { death.note() }
}
