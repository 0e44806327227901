#if GTK
import CViewsGTK
public import ScopedNet

/// The base of the adapters: a Swift object behind a widget, which the widget owns.
///
/// An adapter lives as long as its widget, or longer where the program holds it; it then does nothing. A widget has one adapter of a type at a time: a
/// second one takes the place of the first. The widget is given as its address, as `gtk_picture_new()` returns it, so that it does not
/// matter which module of C declarations a program has imported.
@MainActor public class GTKAdapter {
    let object: WeakObject

    /// The bag of the widget (``ScopedNet/DeallocBag/of(gObject:fileID:line:)``), for what is to end with it.
    public let bag: DeallocBag

    /// The address of the widget, borrowed: good until the program returns to the main loop. Nil after the end of the widget.
    public var widget: UnsafeMutableRawPointer? { object.address }

    init(owner widget: UnsafeMutableRawPointer, _ fileID: StaticString, _ line: Int) {
        object = WeakObject(widget)
        bag = .of(gObject: widget, fileID: fileID, line: line)
    }
}

/// The widget that an adapter is made for: the one that was given, or else a new one. One of another type is a programming error, and traps.
func adapted(
    _ widget: UnsafeMutableRawPointer?, else make: @autoclosure () -> UnsafeMutablePointer<GtkWidget>?, _ types: GType...
) -> UnsafeMutableRawPointer {
    guard let widget = widget ?? UnsafeMutableRawPointer(make()) else { preconditionFailure("GTK makes each widget that it has") }
    precondition(types.contains { widget.isA($0) }, "An adapter is for another type of widget than \(widget.typeName)")
    return widget
}
#endif
