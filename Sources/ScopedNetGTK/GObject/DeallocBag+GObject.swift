#if GTK
import CViewsGTK
public import ScopedNet

extension DeallocBag {
    /// Returns the bag of a GObject, which the object owns: its end is the end of the scope. Every call for an object returns the same bag.
    ///
    /// The bag of a widget ends when the widget is disposed of: when it leaves its parent, or a window is closed, and nothing else refers to it, or by
    /// `g_object_run_dispose`.
    ///
    /// - Parameters:
    ///   - object: a GObject, such as a `GtkWidget`; alive.
    ///   - fileID: the file of the call, which names the bag, with `line`.
    ///   - line: the line of the call.
    /// - Returns: the bag; it has ended where the widget was disposed of.
    @MainActor public static func of(
        gObject object: UnsafeMutableRawPointer, fileID: StaticString = #fileID, line: Int = #line
    ) -> DeallocBag {
        if let owned = object.owned(DeallocBag.self) { return owned }
        let bag = DeallocBag(label: "\(object.typeName) \(fileID):\(line)", fileID: fileID, line: line)
        object.own(bag)
        object.own(BagEnd(bag))
        // Weakly: the signal is not to prolong the life of the bag beyond that of the object's data.
        if object.isWidget { connect(object, "destroy") { [weak bag] in _ = bag?.end() } }
        return bag
    }
}

/// Ends a bag with its object, also where somebody else refers to the bag.
private final class BagEnd: Sendable {
    private let bag: DeallocBag

    init(_ bag: DeallocBag) { self.bag = bag }

    deinit { _ = bag.end() }
}

extension UnsafeMutableRawPointer {
    /// This address as that of a GObject.
    private var object: UnsafeMutablePointer<GObject> { assumingMemoryBound(to: GObject.self) }
    /// This address as that of a widget.
    var widget: UnsafeMutablePointer<GtkWidget> { assumingMemoryBound(to: GtkWidget.self) }

    func isA(_ type: GType) -> Bool { scopednet_is_a(self, type) != 0 }

    var isWidget: Bool { isA(gtk_widget_get_type()) }

    /// The name of its type, such as `GtkPicture`.
    package var typeName: String {
        g_type_name_from_instance(assumingMemoryBound(to: GTypeInstance.self)).map { String(cString: $0) } ?? "GObject"
    }

    /// Has the GObject keep one Swift object of a type until its end, or until it keeps another one of this type.
    package func own<Owned: AnyObject>(_ owned: Owned) {
        g_object_set_data_full(object, Self.key(Owned.self), Unmanaged<AnyObject>.passRetained(owned).toOpaque()) { data in
            // Safety: the one release for the reference above.
            if let data { Unmanaged<AnyObject>.fromOpaque(data).release() }
        }
    }

    /// The Swift object of a type that the GObject keeps.
    func owned<Owned: AnyObject>(_ type: Owned.Type) -> Owned? {
        // Safety: the data of this key is an object that `own` has retained.
        g_object_get_data(object, Self.key(type)).map { Unmanaged<AnyObject>.fromOpaque($0).takeUnretainedValue() } as? Owned
    }

    private static func key(_ type: Any.Type) -> String { "swift:\(_typeName(type))" }
}
#endif
