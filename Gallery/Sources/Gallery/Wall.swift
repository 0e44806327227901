import CGalleryGTK
import Glibc
import Reachability
import ScopedNet
import ScopedNetGTK
import ScopedNetImages
import ScopedNetViews

/// The window with the photos: a grid whose cells are used again, a search, a refresh, and the activity of the network.
@MainActor final class Wall {
    let window = made(gtk_window_new())
    private let session: Session
    private let images: ImageLoader
    private let activity: NetworkActivityIndicator
    private let spinner = GTKSpinner()
    private let titles = gtk_string_list_new(nil)
    private let filter = gtk_string_filter_new(gtk_property_expression_new(gtk_string_object_get_type(), nil, "string"))
    private let scrolled = made(gtk_scrolled_window_new())
    private let banner = made(gtk_revealer_new())
    private let errors: GTKErrorDialog
    private let errorSlot: ErrorSlot<GTKErrorDialog>
    private var cells: [UInt: PhotoCell] = [:]
    private var prefetch: ImagePrefetch?
    private lazy var refresh = GTKRefresh(scrolled) { [weak self] in self?.reload() }
    private lazy var refreshSlot = BusySlot(for: refresh, in: .of(gObject: window))

    init(_ session: Session, _ images: ImageLoader, _ views: ViewObserver) {
        (self.session, self.images) = (session, images)
        activity = NetworkActivityIndicator(views)
        errors = GTKErrorDialog(over: window)
        errorSlot = ErrorSlot(for: errors, in: .of(gObject: window))
        gtk_window_set_title(window.window, "Photos")
        gtk_window_set_default_size(window.window, 1000, 740)
        style(window, "wall")
        activity.isEnabled = true
        activity.attach(spinner)
        gtk_window_set_titlebar(window.window, makeHeader().widget)
        let column = made(gtk_box_new(GTK_ORIENTATION_VERTICAL, 0))
        gtk_widget_set_vexpand(scrolled.widget, 1)
        gtk_scrolled_window_set_child(OpaquePointer(scrolled), makeGrid().widget)
        for child in [makeBanner(), refresh.header, scrolled] { gtk_box_append(column.box, child?.widget) }
        gtk_window_set_child(window.window, column.widget)
        followNetwork()
        reload()
    }

    /// Fetches the list. Its run reveals the header of the refresh, and an error of it opens a dialog.
    func reload() {
        let run = session.get("photos.json", as: [String].self)
            .onSuccess(for: self) { wall, lines in wall.show(lines) }
            .start(in: .of(gObject: window))
        refreshSlot.bind(run)
        errorSlot.follow(run)
    }

    private func show(_ lines: [String]) {
        // In one step: after each change the grid binds its cells anew.
        var words = lines.map { UnsafePointer(strdup($0)) } + [nil]
        gtk_string_list_splice(titles, 0, g_list_model_get_n_items(titles), &words)
        for word in words { free(UnsafeMutablePointer(mutating: word)) }
    }

    // MARK: Widgets

    private func makeHeader() -> UnsafeMutableRawPointer {
        let (header, search) = (made(gtk_header_bar_new()), made(gtk_search_entry_new()))
        gtk_widget_set_size_request(search.widget, 320, -1)
        gtk_header_bar_set_title_widget(OpaquePointer(header), search.widget)
        gtk_header_bar_pack_end(OpaquePointer(header), spinner.widget?.widget)
        let searched = search
        connect(search, "notify::text") { [weak self] _ in
            gtk_string_filter_set_search(self?.filter, gtk_editable_get_text(OpaquePointer(searched)))
        }
        return header
    }

    private func makeBanner() -> UnsafeMutableRawPointer {
        let label = made(gtk_label_new("You are offline. Photos that were seen before are still here."))
        style(label, "banner")
        gtk_revealer_set_child(OpaquePointer(banner), label.widget)
        return banner
    }

    private func makeGrid() -> UnsafeMutableRawPointer {
        let factory = gtk_signal_list_item_factory_new()
        let found = UnsafeMutablePointer<GtkFilter>(filter)
        let shown = gtk_filter_list_model_new(titles, found)
        let grid = made(gtk_grid_view_new(gtk_no_selection_new(shown), factory))
        gtk_grid_view_set_max_columns(OpaquePointer(grid), 4)
        gtk_grid_view_set_single_click_activate(OpaquePointer(grid), 1)
        guard let factory = UnsafeMutableRawPointer(factory) else { return grid }
        connect(factory, "setup") { [weak self] item in
            guard let self else { return }
            let cell = PhotoCell(images)
            cells[item] = cell
            gtk_list_item_set_child(OpaquePointer(bitPattern: item), cell.widget.widget)
        }
        connect(factory, "bind") { [weak self] item in self?.bind(item) }
        connect(factory, "unbind") { [weak self] item in self?.cells[item]?.clear() }
        connect(factory, "teardown") { [weak self] item in self?.cells[item] = nil }
        connect(grid, "activate") { [weak self] place in
            guard let self, let photo = Self.photo(g_list_model_get_item(shown, guint(place)), owned: true) else { return }
            PhotoPage.open(photo, over: window, images)
        }
        return grid
    }

    private func bind(_ item: UInt) {
        let listItem = OpaquePointer(bitPattern: item)
        guard let photo = Self.photo(gtk_list_item_get_item(listItem), owned: false) else { return }
        cells[item]?.show(photo)
        // The rows ahead, once for each row.
        guard gtk_list_item_get_position(listItem) % 4 == 0 else { return }
        prefetch = images.prefetch((photo.number + 4..<photo.number + 16).map { Photo("\($0) ").small })
    }

    private static func photo(_ object: UnsafeMutableRawPointer?, owned: Bool) -> Photo? {
        guard let object else { return nil }
        defer { if owned { g_object_unref(object) } }
        return gtk_string_object_get_string(OpaquePointer(object)).map { Photo(String(cString: $0)) }
    }

    private func followNetwork() {
        let monitor = ReachabilityMonitor()
        try? monitor.start()
        let banner = banner
        DeallocBag.of(gObject: window).task { @MainActor in
            for await path in monitor.paths { gtk_revealer_set_reveal_child(OpaquePointer(banner), path.isSatisfied ? 0 : 1) }
        }
    }
}
