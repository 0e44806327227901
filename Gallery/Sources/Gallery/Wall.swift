import CGalleryGTK
import Reachability
import ScopedNet
import ScopedNetGTK
import ScopedNetImages
import ScopedNetViews

/// The window with the photos: a grid, a page for one of them, a search, a refresh, and the activity of the network.
@MainActor final class Wall {
    let window = made(gtk_window_new())
    private let services: Services
    private let header = Header()
    private let banner: Banner
    private let grid: Grid
    private let stack = made(gtk_stack_new())
    private let activity: NetworkActivityIndicator
    private let errors: GTKErrorDialog
    private let errorSlot: ErrorSlot<GTKErrorDialog>
    private let column = made(gtk_box_new(GTK_ORIENTATION_VERTICAL, 0))
    private var page: PhotoPage?
    private var lines: [String] = []
    private var isLookDue = false
    private var settled = ""
    private lazy var refresh = GTKRefresh(grid.scrolled) { [weak self] in
        self?.services.report.say("refresh")
        self?.reload()
    }
    private lazy var refreshSlot = BusySlot(for: refresh, in: .of(gObject: window))

    init(_ services: Services, isServerOn: Bool) {
        (self.services, banner, grid) = (services, Banner(services.report), Grid(services))
        activity = NetworkActivityIndicator(services.views)
        errors = GTKErrorDialog(over: window)
        errorSlot = ErrorSlot(for: errors, in: .of(gObject: window))
        gtk_window_set_title(window.window, "Photos")
        let (width, height) = services.meter == nil ? (1000, 740) : (1024, 768)
        gtk_window_set_default_size(window.window, gint(width), gint(height))
        style(window, "wall")
        gtk_switch_set_active(OpaquePointer(header.server), isServerOn ? 1 : 0)
        gtk_window_set_titlebar(window.window, header.widget.widget)
        gtk_widget_set_vexpand(grid.scrolled.widget, 1)
        for child in [banner.widget, refresh.header, grid.scrolled] { gtk_box_append(column.box, child?.widget) }
        gtk_stack_add_child(OpaquePointer(stack), column.widget)
        gtk_window_set_child(window.window, stack.widget)
        activity.isEnabled = true
        activity.attach(header.spinner)
        connectParts()
        followNetwork()
        reload()
    }

    /// Fetches the list. Its run reveals the header of the refresh, and an error of it opens a dialog.
    func reload() {
        let run = services.session.get("photos.json", as: [String].self)
            .onResponse(for: self) { wall, response in wall.show(response.value, from: response.source) }
            .onFailure(for: self) { wall, error in wall.services.report.say("list failed \(error.code)") }
            .start(in: .of(gObject: window))
        refreshSlot.bind(run)
        errorSlot.follow(run)
    }

    private func show(_ lines: [String], from source: ResponseSource) {
        services.report.noteCall()
        banner.hasServer = source != .cache
        services.report.say("list \(lines.count) \(source)")
        // The same list leaves the wall as it is, and photos that are missing have another try.
        if lines != self.lines { grid.show(lines) } else { for cell in grid.usedCells { cell.retry() } }
        self.lines = lines
        countChanged()
    }

    private func countChanged() {
        header.show(count: grid.count)
        services.report.say("found \(grid.count)")
        lookSoon()
    }

    private func connectParts() {
        // Behind the click, whose widget is hidden by it.
        grid.onActivate = { [weak self] photo in
            guard let self else { return }
            afterLayout(of: window) { self.open(photo) }
        }
        grid.onBind = { [weak self] in self?.lookSoon() }
        grid.onEnd = { [weak self] source, error in self?.loadEnded(source, error) }
        let (search, server) = (header.search, header.server)
        connect(search, "notify::text") { [weak self] _ in
            guard let self, let words = gtk_editable_get_text(OpaquePointer(search)) else { return }
            grid.search(String(cString: words))
            countChanged()
        }
        connect(server, "notify::active") { [weak self] _ in self?.turnServer(on: gtk_switch_get_active(OpaquePointer(server)) != 0) }
        header.onBack = { [weak self] in self?.closePage() }
        let adjustment = gtk_scrolled_window_get_vadjustment(OpaquePointer(grid.scrolled))
        if let adjustment { connect(plain: "value-changed", of: UnsafeMutableRawPointer(adjustment)) { [weak self] in self?.lookSoon() } }
    }

    private func turnServer(on isOn: Bool) {
        DeallocBag.of(gObject: window).task { @MainActor [weak self] in
            await self?.services.server?.turn(on: isOn)
            self?.services.report.say("server \(isOn ? "on" : "off")")
            self?.reload()
        }
    }

    private func loadEnded(_ source: ImageResponse.Source?, _ error: ImageLoadError?) {
        if source == .file(.network) { banner.hasServer = true }
        if case .transfer(let error)? = error, [.connectionRefused, .connectionFailed, .connectionLost].contains(error.code) {
            banner.hasServer = false
        }
        lookSoon()
    }

    private func followNetwork() {
        // The way to the server, which is on this machine.
        let monitor = ReachabilityMonitor(target: .host("127.0.0.1"))
        try? monitor.start()
        let banner = banner
        DeallocBag.of(gObject: window).task { @MainActor in
            for await path in monitor.paths where !Task.isCancelled { banner.hasNetwork = path.isSatisfied }
        }
    }

    // MARK: The page of a photo

    private func open(_ photo: Photo) {
        guard page == nil else { return }
        let page = PhotoPage(photo, services)
        self.page = page
        gtk_stack_add_child(OpaquePointer(stack), page.widget.widget)
        gtk_stack_set_visible_child(OpaquePointer(stack), page.widget.widget)
        header.show(page: photo)
        services.report.say("page opened \(photo.number)")
        lookSoon()
        afterLayout(of: window) { [self] in
            if let back = header.back { services.report.say("back", at: place(of: back, in: window)) }
            services.report.say("page laid out \(photo.number)")
        }
    }

    private func closePage() {
        guard let page else { return }
        self.page = nil
        gtk_stack_set_visible_child(OpaquePointer(stack), column.widget)
        gtk_stack_remove(OpaquePointer(stack), page.widget.widget)
        header.show(page: nil)
        services.report.say("page closed \(page.photo.number)")
        lookSoon()
        guard services.report.isOn else { return }
        Task { [services] in
            await services.server?.waitForRequests()
            services.report.say("server idle")
        }
    }

    // MARK: The photos on the screen

    private func lookSoon() {
        if isLookDue { return }
        isLookDue = true
        afterLayout(of: window) { [weak self] in self?.look() }
    }

    /// Asks for the photos on the screen before those around them, and tells when none of them is missing any more.
    private func look() {
        isLookDue = false
        let visible = grid.visibleCells(in: window)
        for cell in grid.usedCells { cell.setOnScreen(visible.contains { $0.cell === cell }) }
        guard services.report.isOn, page == nil, !visible.contains(where: { $0.cell.stage == .loading }) else {
            if !settled.isEmpty { services.report.say("unsettled") }
            settled = ""
            return
        }
        func numbers(_ stage: PhotoCell.Stage) -> String {
            visible.filter { $0.cell.stage == stage }.map { " \($0.photo.number)" }.joined()
        }
        let now = "settled\(numbers(.shown)) missing\(numbers(.missing))"
        guard now != settled else { return }
        settled = now
        services.meter?.begin(window: window)
        for (photo, _, place) in visible { services.report.say("photo-\(photo.number)", at: place) }
        let parts = [
            ("search", header.search), ("server", header.server), ("wall", grid.scrolled), ("banner", banner.widget),
            ("close", descendant(of: header.widget, style: "close")),
        ]
        for (name, part) in parts { if let part { services.report.say(name, at: place(of: part, in: window)) } }
        services.report.say(now)
    }
}
