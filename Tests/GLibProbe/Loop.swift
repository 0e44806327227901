import CMainLoopGLib

/// A main loop of GLib.
@MainActor
final class Loop {
    private let loop = g_main_loop_new(nil, 0)

    isolated deinit { g_main_loop_unref(loop) }

    func run() { g_main_loop_run(loop) }

    func quit() { g_main_loop_quit(loop) }

    /// Runs whatever is ready, and does not wait for more.
    static func runReady() { while g_main_context_iteration(nil, 0) != 0 {} }

    /// Runs `body` from a source of GLib, as a signal handler of a widget is.
    static func onIdle(_ body: @escaping @MainActor () -> Void) { once(g_idle_source_new(), body) }

    static func after(milliseconds: UInt32, _ body: @escaping @MainActor () -> Void) { once(g_timeout_source_new(milliseconds), body) }

    private static func once(_ source: UnsafeMutablePointer<GSource>?, _ body: @escaping @MainActor () -> Void) {
        let box = Unmanaged.passRetained(Box(body)).toOpaque()
        g_source_set_callback(
            source,
            { data in
                // Safety: the box is released by the notification below and not before; GLib runs this on the thread of the context, the main one.
                let address = UInt(bitPattern: data)
                MainActor.assumeIsolated {
                    if let data = UnsafeRawPointer(bitPattern: address) { Unmanaged<Box>.fromOpaque(data).takeUnretainedValue().body() }
                }
                return 0
            }, box,
            // Safety: the one release of the reference above.
            { data in if let data { Unmanaged<Box>.fromOpaque(data).release() } })
        g_source_attach(source, nil)
        g_source_unref(source)
    }

    private final class Box: Sendable {
        let body: @MainActor () -> Void
        init(_ body: @escaping @MainActor () -> Void) { self.body = body }
    }
}
