/// A weak reference that may cross threads.
package struct WeakReference<Object: AnyObject>: @unchecked Sendable {
    // Safety: the reference is constant; loading it is atomic. The object itself is touched only where `Callback.lane` runs, which
    // is the isolation its owner named.
    package private(set) weak var object: Object?
    package init(_ object: Object) { self.object = object }
}
