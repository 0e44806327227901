#if GLib
import CMainLoopGLib
import CMainQueue

/// The main queue of Dispatch, and with it the main actor, as an event source of GLib's default main context.
///
/// A program whose main thread is in `g_main_loop_run`, `g_application_run` or `gtk_main` runs nothing of `DispatchQueue.main` and `@MainActor` by
/// itself. Install the bridge once, on the main thread, before the loop runs:
///
/// ```swift
/// try MainQueueBridge.install()
/// g_main_loop_run(loop)
/// ```
///
/// GLib then waits for the descriptor that libdispatch has for its main queue: nothing is polled, and an idle program sleeps.
///
/// The bridge is one for the whole process. Work runs whenever the default main context is iterated, also in a nested loop. It does not in a loop
/// that is nested in a block of the main queue or in a job of the main actor: the main queue is serial, and goes on when that block returns.
public enum MainQueueBridge {
    @MainActor private static var source: UnsafeMutablePointer<GSource>?

    /// True from ``install(priority:)`` to ``uninstall()``. Main thread only.
    @MainActor public static var isInstalled: Bool { source != nil }

    /// Attaches the main queue to GLib's default main context. Work that was queued before runs as soon as the context is iterated.
    ///
    /// A second call changes nothing: a library may call it without knowing the program, and the priority stays as it was.
    ///
    /// - Parameter priority: the priority of the source, where less is more urgent. Default: 0 (`G_PRIORITY_DEFAULT`), that of input events; GTK
    ///   draws at 120, so work that always has more work to follow keeps it from drawing, as input would.
    /// - Throws: ``MainQueueBridgeError``; nothing is installed then.
    public static func install(priority: Int32 = 0) throws(MainQueueBridgeError) {
        guard main_queue_is_current_thread() else { throw .notOnMainThread }
        let isOffered = MainActor.assumeIsolated { source != nil || attach(main_queue_descriptor(), priority) }
        guard isOffered else { throw .noMainQueueDescriptor }
    }

    /// Detaches the main queue. From here on its work waits, until the bridge is installed again. Without a bridge it does nothing.
    ///
    /// It may be called by work of the main queue, which ends as usual.
    @MainActor public static func uninstall() {
        guard let attached = source else { return }
        source = nil
        g_source_destroy(attached)
        g_source_unref(attached)
    }

    @MainActor private static func attach(_ descriptor: Int32, _ priority: Int32) -> Bool {
        guard descriptor >= 0, let made = g_unix_fd_source_new(descriptor, G_IO_IN) else { return false }
        scopednet_set_descriptor_callback(made) { descriptor, _, _ in
            main_queue_drain(descriptor)
            return 1  // G_SOURCE_CONTINUE
        }
        g_source_set_static_name(made, "Dispatch main queue")
        g_source_set_priority(made, priority)
        g_source_attach(made, nil)
        source = made
        return true
    }
}

/// The reason why the main queue cannot be served by GLib.
public enum MainQueueBridgeError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The call came from another thread than the first one of the process. Call it where `main` calls GLib.
    case notOnMainThread
    /// libdispatch has no descriptor of its main queue: it lacks the functions that CFRunLoop uses, or the process has no descriptors left.
    case noMainQueueDescriptor

    /// A sentence for logs.
    public var description: String {
        switch self {
        case .notOnMainThread: "The main queue can be attached to GLib on the main thread only."
        case .noMainQueueDescriptor: "This libdispatch offers no descriptor of its main queue."
        }
    }
}
#endif
