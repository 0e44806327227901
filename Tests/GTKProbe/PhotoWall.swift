import CViewsGTK
import ScopedNet
import ScopedNetGTK
import ScopedNetImages
import ScopedNetViews

/// A window with photos, which are loaded as they are shown, and with it are gone.
@MainActor
final class PhotoWall {
    let window: UnsafeMutablePointer<GtkWindow>
    private let images: ImageLoader
    private let flow = gtk_flow_box_new()
    private let spinner = GTKSpinner()
    private let activity: NetworkActivityIndicator

    init(_ session: Session, _ views: ViewObserver) {
        images = ImageLoader(session)
        activity = NetworkActivityIndicator(views)
        window = UnsafeMutableRawPointer(gtk_window_new()!).assumingMemoryBound(to: GtkWindow.self)
        let scrolled = gtk_scrolled_window_new()
        gtk_scrolled_window_set_child(OpaquePointer(scrolled), flow)
        let header = gtk_header_bar_new()
        gtk_header_bar_pack_end(OpaquePointer(header), spinner.widget?.assumingMemoryBound(to: GtkWidget.self))
        gtk_window_set_titlebar(window, header)
        gtk_window_set_child(window, scrolled)
        gtk_window_set_default_size(window, 720, 480)
        activity.attach(spinner)
        activity.isEnabled = true
    }

    /// Adds a photo. Its load ends with its widget: when the window is closed, or the photo removed.
    func add(_ url: String) {
        let photo = GTKPicture()
        let widget = photo.widget?.assumingMemoryBound(to: GtkWidget.self)
        gtk_widget_set_size_request(widget, 160, 120)
        gtk_picture_set_content_fit(OpaquePointer(widget), GTK_CONTENT_FIT_COVER)
        gtk_flow_box_insert(OpaquePointer(flow), widget, -1)
        let slot = ImageSlot(for: photo, loader: images, in: photo.bag)
        photo.bag.insert(slot)
        slot.bind(ImageBinding(ImageRequest(url, size: PixelSize(160, 120), mode: .fill)))
    }
}
