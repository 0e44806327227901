#if GTK
import CViewsGTK

/// A weak reference to a GObject.
package final class WeakObject: @unchecked Sendable {
    // Safety: a GWeakRef locks for itself, and its memory belongs to this object alone.
    private let reference = UnsafeMutablePointer<GWeakRef>.allocate(capacity: 1)

    package init(_ object: UnsafeMutableRawPointer) { g_weak_ref_init(reference, object) }

    deinit {
        g_weak_ref_clear(reference)
        reference.deallocate()
    }

    /// The address of the object; nil from its end on.
    package var address: UnsafeMutableRawPointer? {
        guard let object = g_weak_ref_get(reference) else { return nil }
        g_object_unref(object)
        return object
    }

    /// Lends the object, which lives for as long as `body` runs. Does nothing after its end.
    package func with(_ body: (UnsafeMutableRawPointer) -> Void) {
        guard let object = g_weak_ref_get(reference) else { return }
        defer { g_object_unref(object) }
        body(object)
    }
}
#endif
