import CViewsGTK
import Dispatch
import FoundationEssentials
import HTTPTypes
import ScopedNet
import ScopedNetGTK
import ScopedNetImages
import ScopedNetTesting
import ScopedNetViews

/// The slots of ScopedNetViews over widgets, with a transport that the scenario answers.
@MainActor
enum Slots {
    /// A session over a mock transport, and a loader.
    private struct Fixture {
        let session: Session
        let views = ViewObserver()
        let images: ImageLoader
        var mock: MockTransport { session.mock }

        init(unanswered: MockTransport.Unanswered = .wait) {
            let views = views
            session = MockTransport.session("http://gtk.test/", unanswered: unanswered) { $0.observers.append(views) }
            var configuration = ImageLoader.Configuration()
            configuration.relievesMemory = false
            images = ImageLoader(session, configuration: configuration)
        }

        func settle() async {
            await session.agent.waitUntilIdle()
            await mainQueue()
        }

        func end() async {
            await settle()
            await session.shutdown()
            await mainQueue()
        }
    }

    /// A placeholder, the picture, and the same from memory before the call returns.
    static func image() async throws {
        try await expectNothingLeft {
            let fixture = Fixture()
            let (view, second) = (GTKPicture(), GTKPicture())
            let window = TestWindow(view.widget)
            let slot = ImageSlot(for: view, loader: fixture.images, in: view.bag)
            slot.bind(ImageBinding("a.bmp", placeholder: .placeholder(try picture([9, 9, 9, 255], width: 5))))
            expect(width(view) == 5, "no placeholder")
            await fixture.mock.exchange(0).respond(bitmap(width: 8))
            await fixture.settle()
            expect(width(view) == 8, "the picture has not come: \(width(view))")
            g_object_ref_sink(second.widget)
            let other = ImageSlot(for: second, loader: fixture.images, in: second.bag)
            other.bind(ImageBinding("a.bmp"))
            expect(width(second) == 8 && fixture.mock.exchanges.count == 1, "a picture in memory is not shown at once")
            g_object_unref(second.widget)
            slot.bind(ImageBinding("b.bmp"))
            await fixture.mock.waitForExchanges(2)
            window.close()
            expect(!slot.isLoading, "the load goes on behind the window")
            await fixture.end()
        }
    }

    /// Ten thousand bindings of some views, each in place of the one before: most are of a picture in memory, and some loads are left behind.
    static func rebind() async {
        await expectNothingLeft {
            let fixture = Fixture()
            for number in 0..<60 { fixture.mock.on("\(number).bmp", bitmap(width: 8 + number)) }
            let column = UnsafeMutableRawPointer(gtk_box_new(GTK_ORIENTATION_VERTICAL, 0)!)
            let window = TestWindow(column)
            let slots = (0..<10).map { _ in
                let view = GTKPicture()
                gtk_box_append(column.assumingMemoryBound(to: GtkBox.self), view.widget?.assumingMemoryBound(to: GtkWidget.self))
                return ImageSlot(for: view, loader: fixture.images, in: view.bag)
            }
            var shown = 0
            for round in 0..<10_000 {
                var binding = ImageBinding<GTKPicture>(ImageRequest("\(round / 3 % 80).bmp"), placeholder: round % 2 == 0 ? .keep : .clear)
                binding.onSuccess = { view, response in
                    view.display(response.image)
                    shown += 1
                }
                slots[round % 10].bind(binding)
                if round % 100 == 99 { await mainQueue() }
                if round % 1_000 == 999 { while gtk_events() {} }
            }
            slots[0].bind(ImageBinding("never.bmp"))
            expect(shown > 5_000 && slots[0].isLoading, "\(shown) pictures were shown")
            window.close()
            expect(slots.allSatisfy { !$0.isLoading }, "loads go on behind the window")
            await fixture.end()
        }
    }

    /// A bar, a spinner and a dialog that follow runs.
    static func run() async {
        let fixture = Fixture()
        let column = UnsafeMutableRawPointer(gtk_box_new(GTK_ORIENTATION_VERTICAL, 0)!)
        let (window, bar, spinner) = (TestWindow(column), GTKProgressBar(), GTKSpinner())
        for widget in [bar.widget, spinner.widget] {
            gtk_box_append(column.assumingMemoryBound(to: GtkBox.self), widget?.assumingMemoryBound(to: GtkWidget.self))
        }
        let dialog = GTKErrorDialog(over: window.address)
        let slots = (ProgressSlot(for: bar, in: bar.bag), BusySlot(for: spinner, in: spinner.bag), ErrorSlot(for: dialog, in: dialog.bag))
        let run = fixture.session.get("file").start()
        slots.0.bind(run)
        slots.1.bind(run)
        slots.2.follow(run)
        expect(bar.isPulsing && spins(spinner), "it turns and pulses")
        let exchange = await fixture.mock.exchange(0)
        exchange.receiveHead(headers: [.contentLength: "8"])
        exchange.receive("half")
        while bar.isPulsing { await mainQueue() }
        expect(gtk_progress_bar_get_fraction(OpaquePointer(bar.widget)) == 0.5, "half of it")
        exchange.fail(.connectionLost)
        await fixture.settle()
        while dialog.presented == nil { await mainQueue() }
        expect(!bar.isPulsing && !spins(spinner), "it has ended")
        window.close()
        await fixture.end()
    }

    /// The wall of the article: its loads end with its window.
    static func wall() async {
        let fixture = Fixture()
        let wall = PhotoWall(fixture.session, fixture.views)
        for number in 0..<3 { wall.add("\(number).bmp") }
        gtk_window_present(wall.window)
        await fixture.mock.waitForExchanges(3)
        await fixture.mock.exchange(0).respond(bitmap(width: 8))
        gtk_window_destroy(wall.window)
        await fixture.settle()
        expect(fixture.mock.exchanges.dropFirst().allSatisfy(\.isCancelled), "loads go on behind the window")
        await fixture.end()
    }

    private static var closedWindows = 0

    /// The program of the article ends when its window is closed.
    static func program() throws {
        // A source of GLib: the loop of the program is nested in this job, and the main queue waits for it.
        g_timeout_add(
            50,
            { _ in
                guard let window = g_list_model_get_item(gtk_window_get_toplevels(), 0) else { return 1 }
                gtk_window_destroy(window.assumingMemoryBound(to: GtkWindow.self))
                g_object_unref(window)
                MainActor.assumeIsolated { Slots.closedWindows += 1 }
                return 0
            }, nil)
        try GTKProbe.run(["a.bmp"])
        expect(g_list_model_get_n_items(gtk_window_get_toplevels()) == 0 && closedWindows == 1, "\(closedWindows) windows were closed")
    }

    /// A spinner that turns while a run transfers, by the indicator.
    static func indicator() async {
        let fixture = Fixture()
        let spinner = GTKSpinner()
        let window = TestWindow(spinner.widget)
        let indicator = NetworkActivityIndicator(fixture.views)
        indicator.attach(spinner)
        fixture.session.get("file").start()
        let exchange = await fixture.mock.exchange(0)
        while !indicator.hasWork { await mainQueue() }
        expect(!spins(spinner), "it turns though it is off")
        indicator.isEnabled = true
        expect(spins(spinner), "it stands still")
        exchange.respond(.ok())
        while spins(spinner) { await mainQueue() }
        expect(!indicator.hasWork, "it stopped while there was work")
        window.close()
        await fixture.end()
    }

    /// Draws what is to be drawn.
    private static func gtk_events() -> Bool { g_main_context_pending(nil) != 0 && g_main_context_iteration(nil, 0) != 0 }

    private static func spins(_ spinner: GTKSpinner) -> Bool { gtk_spinner_get_spinning(OpaquePointer(spinner.widget)) != 0 }

    private static func width(_ view: GTKPicture) -> Int32 {
        gtk_picture_get_paintable(OpaquePointer(view.widget)).map { gdk_paintable_get_intrinsic_width($0) } ?? 0
    }

    /// A black bitmap of 24 bits, three rows high.
    private static func bitmap(width: Int) -> MockReply {
        let stride = (width * 3 + 3) / 4 * 4
        func four(_ value: Int) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) } }
        var bytes = Array("BM".utf8) + four(54 + stride * 3) + four(0) + four(54) + four(40) + four(width) + four(3)
        bytes += [1, 0, 24, 0] + four(0) + four(stride * 3) + four(0) + four(0) + four(0) + four(0)
        bytes += [UInt8](repeating: 0, count: stride * 3)
        return MockReply(body: Data(bytes)).header(.cacheControl, "max-age=60")
    }
}

/// Returns when the main queue has done what was in it.
@MainActor func mainQueue() async {
    await withCheckedContinuation { continuation in DispatchQueue.main.async { continuation.resume() } }
}

/// Expects all that `body` has made to be gone, as soon as other threads have let go of it.
@MainActor func expectNothingLeft(line: Int = #line, _ body: @MainActor () async throws -> Void) async rethrows {
    let census = LeakCensus()
    try await census.listen { try await body() }
    let report = await census.settle(within: .seconds(10))
    expect(report.isEmpty, "\(report)", line: line)
}
