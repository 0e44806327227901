import CGalleryGTK
import ScopedNetGTK

/// The bar at the top of the window: the way back from a page, the number of photos, the search, the activity of the network, and the switch of the server.
@MainActor final class Header {
    let widget = made(gtk_header_bar_new())
    /// The way back from the page that is shown; nil on the wall.
    private(set) var back: UnsafeMutableRawPointer?
    /// Called with a click on it.
    var onBack: @MainActor () -> Void = {}
    let search = made(gtk_search_entry_new())
    let server = made(gtk_switch_new())
    let spinner = GTKSpinner()
    private let count = made(gtk_label_new(""))
    private let title = made(gtk_label_new(""))

    init() {
        let (middle, serverLabel) = (made(gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 0)), made(gtk_label_new("Server")))
        gtk_widget_set_size_request(search.widget, 320, -1)
        for child in [search, title] { gtk_box_append(middle.box, child.widget) }
        gtk_header_bar_set_title_widget(OpaquePointer(widget), middle.widget)
        gtk_header_bar_pack_start(OpaquePointer(widget), count.widget)
        gtk_widget_set_valign(server.widget, GTK_ALIGN_CENTER)
        gtk_widget_set_tooltip_text(server.widget, "Switches the server of the photos on and off")
        for child in [server, serverLabel, spinner.widget] { gtk_header_bar_pack_end(OpaquePointer(widget), child?.widget) }
        for (label, name) in [(count, "dim"), (serverLabel, "dim"), (title, "title")] { style(label, name) }
        show(page: nil)
    }

    func show(count photos: Int) { gtk_label_set_text(OpaquePointer(count), photos == 1 ? "1 photo" : "\(photos) photos") }

    /// Shows the name of a photo and the way back, or the search.
    func show(page: Photo?) {
        gtk_label_set_text(OpaquePointer(title), page?.title ?? "")
        if let back { gtk_header_bar_remove(OpaquePointer(widget), back.widget) }
        back = page.map { _ in makeBack() }
        gtk_widget_set_visible(title.widget, page == nil ? 0 : 1)
        for part in [search, count] { gtk_widget_set_visible(part.widget, page == nil ? 1 : 0) }
    }

    private func makeBack() -> UnsafeMutableRawPointer {
        let button = made(gtk_button_new_with_label("Back"))
        // Behind the click, which takes the button away.
        connect(plain: "clicked", of: button) { [weak self] in afterLayout(of: button) { self?.onBack() } }
        gtk_header_bar_pack_start(OpaquePointer(widget), button.widget)
        return button
    }
}
