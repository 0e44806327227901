import CleanSlate
import FoundationEssentials
import HTTPTypes
import ScopedNet
import ScopedNetTesting
import ScopedNetViews
import Testing

/// The page of a view.
@MainActor @Suite(.leavesNothing, .noLeaks, .timeLimit(.minutes(3))) struct PageSlotTests {
    private struct Refusal: Error {}

    private static func html(_ text: String, _ type: String = "text/html") -> MockReply { .ok(text).header(.contentType, type) }

    /// UI-6.
    @Test func aPageHasOneStartAndOneFinish() async throws {
        let test = ViewTest(unanswered: .fail)
        test.mock.on("a", Self.html("<p>"))
        let view = PageView()
        let slot = PageSlot(for: view)
        slot.bind(PageBinding(test.session.get("a"), onFinish: { view in view.log.append("closure") }))
        #expect(view.log == ["start"] && slot.isLoading)
        await test.settle()
        #expect(view.log == ["start", "load", "finish", "closure"] && !slot.isLoading)
        #expect(view.pages == [PageContent(Data("<p>".utf8), type: "text/html", baseURL: "http://views.test/a")])
        await test.end()
    }

    /// The finish was announced when the bytes were handed over, and again by the view (AFNetworking 3446, 3533). UI-6.
    @Test func theViewAloneSaysWhenItIsFinished() async throws {
        let test = ViewTest(unanswered: .fail)
        test.mock.on("a", Self.html("<p>"))
        let view = PageView()
        view.isImmediate = false
        let slot = PageSlot(for: view)
        slot.bind(PageBinding(test.session.get("a"), onFinish: { view in view.log.append("closure") }))
        await test.settle()
        #expect(view.log == ["start", "load"] && slot.isLoading)
        view.completions[0](.success(()))
        view.completions[0](.success(()))
        view.completions[0](.failure(Refusal()))
        #expect(view.log == ["start", "load", "finish", "closure"])
        await test.end()
    }

    /// The returned value was thrown away. UI-6, defect 47.
    @Test func whatTheTransformReturnsIsLoaded() async throws {
        let test = ViewTest(unanswered: .fail)
        test.mock.on("a", Self.html("one", "text/plain; charset=utf-8"))
        let view = PageView()
        let slot = PageSlot(for: view)
        slot.bind(PageBinding(test.session.get("a"), transform: .data { response in response.value + Data(" two".utf8) }))
        await test.settle()
        slot.bind(PageBinding(test.session.get("a"), transform: .text { response, text in "\(text) \(response.status)" }))
        await test.settle()
        #expect(view.pages.map { String(decoding: $0.data, as: UTF8.self) } == ["one two", "one 200"])
        #expect(view.pages.map(\.type) == ["text/plain", "text/plain"] && view.pages.map(\.charset) == ["utf-8", "utf-8"])
        await test.end()
    }

    /// UI-6.
    @Test(arguments: [
        ("text/html; charset=ISO-8859-1", [0x67, 0xFC, 0x6E] as [UInt8], "gün"), ("text/html", [0x67, 0xC3, 0xBC, 0x6E], "gün"),
        ("text/html; charset=nonsense", [0x67, 0xC3, 0xBC, 0x6E], "gün"),
    ])
    func textIsDecodedByTheCharsetOfTheResponse(type: String, bytes: [UInt8], text: String) async throws {
        let test = ViewTest(unanswered: .fail)
        test.mock.on("a", MockReply(headers: [.contentType: type], body: Data(bytes)))
        let view = PageView()
        let slot = PageSlot(for: view)
        var heard: [String] = []
        slot.bind(
            PageBinding(
                test.session.get("a"),
                transform: .text { _, text in
                    heard.append(text); return text
                }))
        await test.settle()
        #expect(heard == [text] && view.pages.map(\.data) == [Data(text.utf8)] && view.pages.map(\.charset) == ["utf-8"])
        slot.bind(PageBinding(test.session.get("a")))
        await test.settle()
        #expect(view.pages.last?.data == Data(bytes))
        #expect(view.pages.last?.charset == (type.contains("charset=") ? String(type.split(separator: "=")[1]) : nil))
        await test.end()
    }

    /// UI-6.
    @Test func theBaseIsTheURLOfTheLastResponse() async throws {
        let test = ViewTest(unanswered: .fail)
        test.mock.on("a", .redirect(to: "/folder/b"))
        test.mock.on("folder/b", MockReply(body: Data("<p>".utf8)))
        let view = PageView()
        let slot = PageSlot(for: view)
        slot.bind(PageBinding(test.session.get("a")))
        await test.settle()
        #expect(view.pages.map(\.baseURL) == ["http://views.test/folder/b"] && view.pages.map(\.type) == ["text/html"])
        await test.end()
    }

    /// UI-6.
    @Test func aFailureIsToldOnce() async throws {
        let test = ViewTest(unanswered: .fail)
        test.mock.on("a", .failing(.connectionRefused))
        test.mock.on("b", Self.html("<p>"))
        let view = PageView()
        let slot = PageSlot(for: view)
        slot.bind(PageBinding(test.session.get("a"), onFailure: { view, _ in view.log.append("closure") }))
        await test.settle()
        #expect(view.log == ["start", "fail \(NetworkError.Code.connectionRefused.description)", "closure"])
        view.log = []
        slot.bind(PageBinding(test.session.get("b"), transform: .data { _ in throw Refusal() }))
        await test.settle()
        #expect(view.log == ["start", "fail Refusal()"])
        view.log = []
        view.isImmediate = false
        slot.bind(PageBinding(test.session.get("b")))
        await test.settle()
        view.completions[0](.failure(Refusal()))
        #expect(view.log == ["start", "load", "fail Refusal()"] && !slot.isLoading)
        await test.end()
    }

    /// UI-6.
    @Test func anotherPageCancelsTheOneBefore() async throws {
        let test = ViewTest()
        let view = PageView()
        let slot = PageSlot(for: view)
        slot.bind(PageBinding(test.session.get("a"), onFailure: { view, _ in view.log.append("closure") }))
        let first = await test.mock.exchange(0)
        view.isImmediate = false
        slot.bind(PageBinding(test.session.get("b")))
        await eventually { first.isCancelled }
        await test.mock.exchange(1).respond(Self.html("b"))
        await eventually { view.completions.count == 1 }
        #expect(view.log == ["start", "stop", "start", "load"])
        // The view is still loading the second page.
        slot.bind(PageBinding(test.session.get("c")))
        view.completions[0](.success(()))
        await test.mock.exchange(2).respond(Self.html("c"))
        await eventually { view.completions.count == 2 }
        view.completions[1](.success(()))
        #expect(view.log == ["start", "stop", "start", "load", "stop", "start", "load", "finish"])
        await test.end()
    }

    /// UI-6.
    @Test func aCancelIsSilent() async throws {
        let test = ViewTest()
        let (view, bag) = (PageView(), DeallocBag())
        view.isImmediate = false
        let slot = PageSlot(for: view, in: bag)
        slot.bind(PageBinding(test.session.get("a"), onFailure: { view, _ in view.log.append("closure") }))
        let exchange = await test.mock.exchange(0)
        slot.cancel()
        await eventually { exchange.isCancelled && view.log == ["start", "stop"] }
        slot.bind(PageBinding(test.session.get("b")))
        await test.mock.exchange(1).respond(Self.html("b"))
        await eventually { view.completions.count == 1 }
        slot.cancel()
        await eventually { view.log == ["start", "stop", "start", "load", "stop"] }
        view.completions[0](.success(()))
        let run = slot.bind(PageBinding(test.session.get("c")))
        run?.cancel()
        await eventually { view.log.count == 7 }
        bag.end()
        #expect(slot.bind(PageBinding(test.session.get("d"))) == nil)
        await test.end()
        #expect(view.log == ["start", "stop", "start", "load", "stop", "start", "stop"])
    }

    /// UI-6.
    @Test func progressIsHandedOut() async throws {
        let test = ViewTest()
        let (view, bar) = (PageView(), StatusView())
        let (slot, progress) = (PageSlot(for: view), ProgressSlot(for: bar))
        var binding = PageBinding<PageView>(test.session.get("a"))
        binding.onProgress = { view, progress in view.log.append("\(progress.completed)") }
        progress.bind(slot.bind(binding))
        let exchange = await test.mock.exchange(0)
        exchange.receiveHead(headers: [.contentLength: "4", .contentType: "text/html"])
        exchange.reportReceived(2, of: 4)
        await eventually { bar.log.last == "0.5" && view.log == ["start", "2"] }
        exchange.receive("1234")
        exchange.finish()
        await test.settle()
        await eventually { bar.log.last == "end" }
        #expect(view.log.suffix(2) == ["load", "finish"])
        await test.end()
    }

    /// The view that is loading a page is told to stop by whoever ends the slot. UI-6.
    @Test(arguments: SlotEnd.allCases) func theEndOfTheSlotStopsItsView(_ end: SlotEnd) async throws {
        let test = ViewTest(unanswered: .fail)
        test.mock.on("a", Self.html("a"))
        let (view, bag) = (PageView(), DeallocBag())
        view.isImmediate = false
        var slot: PageSlot<PageView>? = PageSlot(for: view, in: bag)
        slot?.bind(PageBinding(test.session.get("a")))
        await eventually { view.completions.count == 1 }
        switch end {
        case .cancel: slot?.cancel()
        case .bag: bag.end()
        case .release: slot = nil
        }
        await eventually { view.log == ["start", "load", "stop"] }
        await test.end()
    }

    @Test func theViewMayCancelAtTheStart() async throws {
        let test = ViewTest()
        let view = PageView()
        let slot = PageSlot(for: view)
        view.onStart = { [weak slot] in slot?.cancel() }
        #expect(slot.bind(PageBinding(test.session.get("a"))) == nil && view.log == ["start", "stop"])
        await test.end()
        #expect(test.mock.exchanges.isEmpty)
    }

    @Test func aViewThatDiesEndsItsPage() async throws {
        let test = ViewTest()
        var view: PageView? = PageView()
        var slot = view.map { PageSlot(for: $0) }
        slot?.bind(PageBinding(test.session.get("a")))
        let exchange = await test.mock.exchange(0)
        (view, slot) = (nil, nil)
        await eventually { exchange.isCancelled }
        await test.end()
    }

    @Test func theViewMayAskForAnotherPageAtTheStart() async throws {
        let test = ViewTest()
        let view = PageView()
        let slot = PageSlot(for: view)
        view.onStart = { [weak view, weak slot] in
            view?.onStart = nil
            slot?.bind(PageBinding(test.session.get("b")))
        }
        slot.bind(PageBinding(test.session.get("a")))
        await test.mock.exchange(0).respond(Self.html("b"))
        await test.settle()
        #expect(view.log == ["start", "stop", "start", "load", "finish"] && test.mock.exchanges.map(\.path) == ["/b"])
        await test.end()
    }
}
