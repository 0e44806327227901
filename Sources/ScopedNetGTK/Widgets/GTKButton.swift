#if GTK
import CViewsGTK
public import ScopedNetImages
public import ScopedNetViews

/// A `GtkButton` or `GtkToggleButton` with pictures for its states: beside its content, and behind all of it.
///
/// Pressed is `highlighted`, checked `selected`, and insensitive `disabled`. A state, or combination, without a picture shows that of `normal`.
/// A child that the button had stays, beside the picture.
public final class GTKButton: GTKAdapter, StatefulImageDisplaying {
    private struct Place: Hashable {
        var state: ControlState
        var layer: ControlLayer
    }

    private var images: [Place: DecodedImage] = [:]
    private let views: [ControlLayer: WeakObject]
    /// The places of the pictures that are shown: a change between states that share the picture of `normal` makes no texture of it again.
    private var shown: [ControlLayer: Place] = [:]

    /// Adapts a button, and puts its child into an overlay with the two pictures.
    ///
    /// - Parameters:
    ///   - widget: a `GtkButton`, or a widget of a type derived from it; nil, the default, for a new `GtkButton`.
    ///   - fileID: the file of the call, which names the bag of the widget, with `line`.
    ///   - line: the line of the call.
    public init(_ widget: UnsafeMutableRawPointer? = nil, fileID: StaticString = #fileID, line: Int = #line) {
        let widget = adapted(widget, else: gtk_button_new(), gtk_button_get_type())
        views = Self.addPictures(to: widget.assumingMemoryBound(to: GtkButton.self))
        super.init(owner: widget, fileID, line)
        widget.own(self)
        connect(widget, "state-flags-changed") { [weak self] (_: Int32) in self?.update() }
    }

    /// The state of the button now.
    public var state: ControlState {
        var state = ControlState.normal
        object.with { widget in
            let flags = gtk_widget_get_state_flags(widget.widget).rawValue
            if flags & GTK_STATE_FLAG_ACTIVE.rawValue != 0 { state.insert(.highlighted) }
            if flags & GTK_STATE_FLAG_CHECKED.rawValue != 0 { state.insert(.selected) }
            if flags & GTK_STATE_FLAG_INSENSITIVE.rawValue != 0 { state.insert(.disabled) }
        }
        return state
    }

    /// Sets the picture for a state, and shows it where the button is in that state.
    ///
    /// - Parameters:
    ///   - image: the picture; nil for none.
    ///   - state: the state in which it is shown.
    ///   - layer: beside the content of the button, or behind it.
    public func display(_ image: DecodedImage?, for state: ControlState, on layer: ControlLayer) {
        let place = Place(state: state, layer: layer)
        images[place] = image
        if shown[layer] == place { shown[layer] = nil }
        update()
    }

    /// The picture that a layer shows now; nil for none.
    public func displayedImage(on layer: ControlLayer) -> DecodedImage? {
        images[place(on: layer)]
    }

    private func place(on layer: ControlLayer) -> Place {
        let place = Place(state: state, layer: layer)
        return images[place] == nil ? Place(state: .normal, layer: layer) : place
    }

    private func update() {
        for (layer, view) in views {
            let place = place(on: layer)
            if shown[layer] == place { continue }
            shown[layer] = place
            let image = images[place]
            view.with { widget in
                show(image, in: widget)
                gtk_widget_set_visible(widget.widget, image == nil ? 0 : 1)
            }
        }
    }

    /// Overlay: the background below, above it a row of the picture and the child that was there.
    private static func addPictures(to button: UnsafeMutablePointer<GtkButton>) -> [ControlLayer: WeakObject] {
        let (overlay, row) = (gtk_overlay_new(), gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 6))
        let (background, picture) = (gtk_picture_new(), gtk_picture_new())
        let child = gtk_button_get_child(button)
        // The button has the only reference.
        if let child { g_object_ref(child) }
        gtk_button_set_child(button, overlay)
        for view in [background, picture] { gtk_widget_set_visible(view, 0) }
        gtk_widget_set_halign(row, GTK_ALIGN_CENTER)
        row?.withMemoryRebound(to: GtkBox.self, capacity: 1) { row in
            gtk_box_append(row, picture)
            if let child { gtk_box_append(row, child) }
        }
        if let child { g_object_unref(child) }
        gtk_overlay_set_child(OpaquePointer(overlay), background)
        gtk_overlay_add_overlay(OpaquePointer(overlay), row)
        // The button is as large as its content needs, and its background covers it.
        gtk_overlay_set_measure_overlay(OpaquePointer(overlay), row, 1)
        var views: [ControlLayer: WeakObject] = [:]
        if let picture { views[.image] = WeakObject(picture) }
        if let background { views[.background] = WeakObject(background) }
        return views
    }
}
#endif
