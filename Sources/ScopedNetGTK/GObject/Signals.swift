#if GTK
import CViewsGTK

/// The closure of a signal. GObject owns it, and releases it with the connection.
private final class SignalHandler: Sendable {
    let body: @MainActor (Int32) -> Void

    init(_ body: @escaping @MainActor (Int32) -> Void) { self.body = body }

    var context: UnsafeMutableRawPointer { Unmanaged.passRetained(self).toOpaque() }

    /// Runs the closure behind an address.
    ///
    /// GTK emits signals of widgets on the thread of the main loop.
    static func run(_ context: UnsafeMutableRawPointer?, _ value: Int32) {
        guard let context else { return }
        // Safety: GObject calls this between `context` and `release` alone.
        let handler = Unmanaged<SignalHandler>.fromOpaque(context).takeUnretainedValue()
        MainActor.assumeIsolated { handler.body(value) }
    }

    static let release: GClosureNotify = { context, _ in
        // Safety: the one release for the reference that `context` has retained.
        if let context { Unmanaged<SignalHandler>.fromOpaque(context).release() }
    }
}

/// Runs `body` with each signal without parameters, until the object ends.
@MainActor func connect(_ object: UnsafeMutableRawPointer, _ signal: String, _ body: @escaping @MainActor () -> Void) {
    let handler = SignalHandler { _ in body() }
    _ = scopednet_connect(object, signal, { SignalHandler.run($1, 0) }, handler.context, SignalHandler.release)
}

/// Runs `body` with each signal whose one parameter is an integer, flags or an enumeration, until the object ends.
@MainActor package func connect(
    _ object: UnsafeMutableRawPointer, _ signal: String, _ body: @escaping @MainActor (Int32) -> Void
) {
    let handler = SignalHandler(body)
    _ = scopednet_connect_value(object, signal, { SignalHandler.run($2, $1) }, handler.context, SignalHandler.release)
}
#endif
