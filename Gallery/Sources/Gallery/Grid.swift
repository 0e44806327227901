import CGalleryGTK
import Glibc
import ScopedNetGTK
import ScopedNetImages

/// The photos of the wall: a list, a filter, and cells that are used again.
@MainActor final class Grid {
    let scrolled = made(gtk_scrolled_window_new())
    /// Called with a photo that is clicked.
    var onActivate: @MainActor (Photo) -> Void = { _ in }
    /// Called at the end of the load of a cell.
    var onEnd: @MainActor (ImageResponse.Source?, ImageLoadError?) -> Void = { _, _ in }
    /// Called when a cell has another photo.
    var onBind: @MainActor () -> Void = {}
    private let services: Services
    private let titles = gtk_string_list_new(nil)
    private let filter = gtk_string_filter_new(gtk_property_expression_new(gtk_string_object_get_type(), nil, "string"))
    private let shown: OpaquePointer?
    private var grid: UnsafeMutableRawPointer?
    private var cells: [UInt: PhotoCell] = [:]
    private var prefetch: ImagePrefetch?

    init(_ services: Services) {
        self.services = services
        shown = gtk_filter_list_model_new(titles, UnsafeMutablePointer<GtkFilter>(filter))
        let grid = makeGrid()
        self.grid = grid
        gtk_scrolled_window_set_child(OpaquePointer(scrolled), grid.widget)
    }

    /// The cells that can be seen, from the first photo to the last.
    func visibleCells(in window: UnsafeMutableRawPointer) -> [(photo: Photo, cell: PhotoCell, place: Place)] {
        guard let view = place(of: scrolled, in: window) else { return [] }
        return cells.values.compactMap { cell in
            guard let photo = cell.photo, let place = place(of: cell.widget, in: window), place.overlaps(view) else { return nil }
            return (photo, cell, place)
        }.sorted { ($0.place.y, $0.place.x) < ($1.place.y, $1.place.x) }
    }

    /// The cells that have a photo.
    var usedCells: some Sequence<PhotoCell> { cells.values.lazy.filter { $0.photo != nil } }

    /// The number of photos that the filter leaves.
    var count: Int { Int(g_list_model_get_n_items(shown)) }

    /// Shows other photos.
    func show(_ lines: [String]) {
        // In one step: after each change the grid binds its cells anew.
        var words = lines.map { UnsafePointer(strdup($0)) } + [nil]
        gtk_string_list_splice(titles, 0, g_list_model_get_n_items(titles), &words)
        for word in words { free(UnsafeMutablePointer(mutating: word)) }
    }

    /// Shows the photos alone that have some words, from the first one on.
    func search(_ words: String) {
        gtk_string_filter_set_search(filter, words)
        // Or GTK keeps a photo in its place that was on the screen before, wherever it is now.
        if count > 0 { gtk_widget_activate_action_variant(grid?.widget, "list.scroll-to-item", g_variant_new_uint32(0)) }
    }

    private func makeGrid() -> UnsafeMutableRawPointer {
        let factory = gtk_signal_list_item_factory_new()
        let grid = made(gtk_grid_view_new(gtk_no_selection_new(shown), factory))
        gtk_grid_view_set_max_columns(OpaquePointer(grid), 4)
        gtk_grid_view_set_single_click_activate(OpaquePointer(grid), 1)
        guard let factory = UnsafeMutableRawPointer(factory) else { return grid }
        connect(factory, "setup") { [weak self] item in
            guard let self else { return }
            let cell = PhotoCell(services) { [weak self] source, error in self?.onEnd(source, error) }
            cells[item] = cell
            gtk_list_item_set_child(OpaquePointer(bitPattern: item), cell.widget.widget)
        }
        connect(factory, "bind") { [weak self] item in self?.bind(item) }
        connect(factory, "unbind") { [weak self] item in self?.cells[item]?.clear() }
        connect(factory, "teardown") { [weak self] item in self?.cells[item] = nil }
        connect(grid, "activate") { [weak self] place in
            guard let self, let photo = Self.photo(g_list_model_get_item(shown, guint(place)), owned: true) else { return }
            onActivate(photo)
        }
        return grid
    }

    private func bind(_ item: UInt) {
        let listItem = OpaquePointer(bitPattern: item)
        guard let photo = Self.photo(gtk_list_item_get_item(listItem), owned: false) else { return }
        cells[item]?.show(photo)
        onBind()
        // The rows ahead, once for each row.
        let position = Int(gtk_list_item_get_position(listItem))
        guard services.textures == nil, position % 4 == 0 else { return }
        let ahead = (position + 4..<position + 16).prefix { $0 < count }.compactMap { place in
            Self.photo(g_list_model_get_item(shown, guint(place)), owned: true)?.small
        }
        prefetch = services.images.prefetch(ahead, in: .of(gObject: scrolled))
    }

    private static func photo(_ object: UnsafeMutableRawPointer?, owned: Bool) -> Photo? {
        guard let object else { return nil }
        defer { if owned { g_object_unref(object) } }
        return gtk_string_object_get_string(OpaquePointer(object)).map { Photo(String(cString: $0)) }
    }
}
