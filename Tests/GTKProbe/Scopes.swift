import CViewsGTK
@_spi(Census) import ScopedNet
import ScopedNetGTK
import ScopedNetImages
import ScopedNetTesting
import ScopedNetViews

@MainActor
enum Scopes {
    static func oneBag() {
        let label = UnsafeMutableRawPointer(gtk_label_new("")!)
        g_object_ref_sink(label)
        weak var bag = DeallocBag.of(gObject: label)
        expect(bag != nil && DeallocBag.of(gObject: label) === bag, "one bag for a widget")
        expect(bag?.label.hasPrefix("GtkLabel") == true, "\(bag?.label ?? "")")
        g_object_unref(label)
        expect(bag == nil, "the bag is left")
        let list = UnsafeMutableRawPointer(g_list_store_new(g_object_get_type())!)
        bag = DeallocBag.of(gObject: list)
        expect(bag != nil, "any GObject has one")
        g_object_unref(list)
        expect(bag == nil, "the bag of the list is left")
    }

    /// A request that waits for its answer ends with the widget, silently, and leaves nothing.
    static func widgetEndCancels() async {
        await expectNothingLeft {
            let session = MockTransport.session(unanswered: .wait)
            let box = UnsafeMutableRawPointer(gtk_box_new(GTK_ORIENTATION_VERTICAL, 0)!)
            let (window, view) = (TestWindow(box), GTKPicture())
            gtk_box_append(box.assumingMemoryBound(to: GtkBox.self), view.widget?.assumingMemoryBound(to: GtkWidget.self))
            let run = pending(session, in: view.bag)
            await session.mock.waitForExchanges(1)
            expect(run.status.isExecuting, "it waits")
            gtk_box_remove(box.assumingMemoryBound(to: GtkBox.self), view.widget?.assumingMemoryBound(to: GtkWidget.self))
            expect(!run.status.isExecuting && view.bag.isEnded, "the end of the widget is that of the scope")
            window.close()
            await session.agent.waitUntilIdle()
        }
    }

    /// A widget that is disposed of ends its scope, even where something still has a reference to it.
    static func disposalCancelsThoughHeld() async {
        let session = MockTransport.session(unanswered: .wait)
        let label = UnsafeMutableRawPointer(gtk_label_new("")!)
        g_object_ref_sink(label)
        let run = pending(session, in: .of(gObject: label))
        await session.mock.waitForExchanges(1)
        g_object_run_dispose(label.assumingMemoryBound(to: GObject.self))
        expect(!run.status.isExecuting, "the request of a disposed widget waits for an answer")
        g_object_unref(label)
    }

    private static func pending(_ session: Session, in bag: DeallocBag) -> Run {
        session.get("photo", as: Void.self)
            .onSuccess { _ in expect(false, "success after the end") }
            .onFailure { _ in expect(false, "failure after the end") }
            .start(in: bag)
    }

    static func adapterOutlivesItsWidget() throws {
        let (picture, bar, spinner) = (GTKPicture(), GTKProgressBar(), GTKSpinner())
        for widget in [picture.widget, bar.widget, spinner.widget] {
            g_object_ref_sink(widget)
            g_object_unref(widget)
        }
        expect(picture.widget == nil && picture.bag.isEnded, "the widget is left")
        picture.display(try Self.pixel())
        bar.display(.fraction(0.5), animated: true)
        spinner.setBusy(true)
        weak var owned: GTKPicture?
        let widget: UnsafeMutableRawPointer? = {
            let made = GTKPicture()
            owned = made
            return made.widget
        }()
        expect(owned != nil, "the widget does not keep its adapter")
        g_object_ref_sink(widget)
        g_object_unref(widget)
        expect(owned == nil, "the adapter is left")
    }

    static func tenThousandWidgets() throws {
        let before = LiveObjects.snapshot()
        let image = try pixel()
        for _ in 0..<10_000 {
            let view = GTKPicture()
            g_object_ref_sink(view.widget)
            view.display(image)
            g_object_unref(view.widget)
        }
        expect(LiveObjects.snapshot()[.bag] == before[.bag], "left: \(LiveObjects.snapshot())")
    }

    private static func pixel() throws -> DecodedImage { try picture([1, 2, 3, 255], width: 1, height: 1) }
}
