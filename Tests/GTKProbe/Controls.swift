import CViewsGTK
import ScopedNetGTK
import ScopedNetImages
import ScopedNetViews

@MainActor
enum Controls {
    static func button() async throws {
        let toggle = UnsafeMutableRawPointer(gtk_toggle_button_new()!)
        let button = GTKButton(toggle)
        let window = TestWindow(toggle)
        for (state, width) in [(ControlState.normal, 10), (.highlighted, 20), (.selected, 30), (.disabled, 40)] {
            button.display(try picture([0, 0, 0, 255], width: width), for: state, on: .image)
        }
        button.display(try picture([0, 255, 0, 255], width: 50), for: .normal, on: .background)
        func shown(_ layer: ControlLayer = .image) -> Int? { button.displayedImage(on: layer)?.width }
        expect(shown() == 10 && button.state == .normal, "normal")
        let widget = toggle.assumingMemoryBound(to: GtkWidget.self)
        let background = backgroundTexture(toggle)
        gtk_widget_set_state_flags(widget, GTK_STATE_FLAG_ACTIVE, 0)
        expect(shown() == 20 && visibleWidth(toggle) == 20, "highlighted: \(visibleWidth(toggle))")
        expect(background != nil && backgroundTexture(toggle) == background, "the same picture has another texture")
        gtk_widget_unset_state_flags(widget, GTK_STATE_FLAG_ACTIVE)
        gtk_toggle_button_set_active(toggle.assumingMemoryBound(to: GtkToggleButton.self), 1)
        expect(shown() == 30 && visibleWidth(toggle) == 30, "selected: \(visibleWidth(toggle))")
        gtk_widget_set_sensitive(widget, 0)
        expect(button.state == [.selected, .disabled] && shown() == 10, "a combination shares normal")
        gtk_toggle_button_set_active(toggle.assumingMemoryBound(to: GtkToggleButton.self), 0)
        expect(shown() == 40 && visibleWidth(toggle) == 40, "disabled: \(visibleWidth(toggle))")
        expect(shown(.background) == 50, "the background is that of normal")
        button.display(nil, for: .disabled, on: .image)
        expect(shown() == 10 && visibleWidth(toggle) == 10, "back to normal")
        await window.drawn()
        window.close()
    }

    /// The width of the picture that the row of a button has in front.
    private static func visibleWidth(_ button: UnsafeMutableRawPointer) -> Int32 {
        let overlay = gtk_button_get_child(button.assumingMemoryBound(to: GtkButton.self))
        // The background is the child of the overlay, and the row comes after it.
        let row = gtk_widget_get_last_child(overlay)
        guard let picture = gtk_widget_get_first_child(row) else { return -1 }
        return gdk_paintable_get_intrinsic_width(gtk_picture_get_paintable(OpaquePointer(picture)))
    }

    private static func backgroundTexture(_ button: UnsafeMutableRawPointer) -> OpaquePointer? {
        let overlay = gtk_button_get_child(button.assumingMemoryBound(to: GtkButton.self))
        return gtk_picture_get_paintable(OpaquePointer(gtk_overlay_get_child(OpaquePointer(overlay))))
    }

    static func buttonKeepsItsChild() throws {
        let plain = UnsafeMutableRawPointer(gtk_button_new_with_label("Send")!)
        g_object_ref_sink(plain)
        let button = GTKButton(plain)
        button.display(try picture([0, 0, 0, 255]), for: .normal, on: .image)
        let overlay = gtk_button_get_child(plain.assumingMemoryBound(to: GtkButton.self))
        let row = gtk_widget_get_last_child(overlay)
        let label = gtk_widget_get_last_child(row)
        expect(gtk_label_get_text(OpaquePointer(label)).map { String(cString: $0) } == "Send", "the label is lost")
        g_object_unref(plain)
        expect(button.widget == nil, "the button is left")
    }

    static func progress() async throws {
        let bar = GTKProgressBar()
        guard let widget = bar.widget else { return expect(false, "no widget") }
        let window = TestWindow(widget)
        func fraction() -> Double { gtk_progress_bar_get_fraction(OpaquePointer(widget)) }
        bar.display(.indeterminate, animated: true)
        expect(bar.isPulsing, "it pulses without a length")
        bar.setPaused(true)
        expect(!bar.isPulsing, "it stands while it is paused")
        bar.setPaused(false)
        expect(bar.isPulsing, "it goes on")
        bar.display(.fraction(0.25), animated: true)
        expect(!bar.isPulsing && fraction() == 0.25, "a quarter: \(fraction())")
        bar.endProgress()
        expect(fraction() == 0.25, "the last share stays")
        bar.display(.indeterminate, animated: true)
        await window.drawn()
        bar.endProgress()
        expect(!bar.isPulsing && fraction() == 0, "it is empty")
        bar.display(.indeterminate, animated: true)
        window.close()
        expect(bar.widget == nil, "a bar that pulses keeps its widget")
    }

    static func spinner() {
        let spinner = GTKSpinner()
        guard let widget = spinner.widget else { return expect(false, "no widget") }
        g_object_ref_sink(widget)
        spinner.setBusy(true)
        expect(gtk_spinner_get_spinning(OpaquePointer(widget)) != 0, "it turns")
        spinner.setBusy(false)
        expect(gtk_spinner_get_spinning(OpaquePointer(widget)) == 0, "it stands")
        g_object_unref(widget)
        spinner.setBusy(true)
    }

    static func refresh() async {
        let scrolled = UnsafeMutableRawPointer(gtk_scrolled_window_new()!)
        var refreshes = 0
        let refresh = GTKRefresh(scrolled) { refreshes += 1 }
        let column = UnsafeMutableRawPointer(gtk_box_new(GTK_ORIENTATION_VERTICAL, 0)!)
        let box = column.assumingMemoryBound(to: GtkBox.self)
        gtk_box_append(box, refresh.header?.assumingMemoryBound(to: GtkWidget.self))
        gtk_box_append(box, scrolled.assumingMemoryBound(to: GtkWidget.self))
        let window = TestWindow(column)
        overshoot(scrolled, GTK_POS_BOTTOM)
        expect(refreshes == 0, "the bottom does not refresh")
        overshoot(scrolled, GTK_POS_TOP)
        expect(refreshes == 1, "the top refreshes")
        refresh.setBusy(true)
        overshoot(scrolled, GTK_POS_TOP)
        expect(refreshes == 1, "once at a time")
        let revealer = refresh.header.map { OpaquePointer($0) }
        expect(gtk_revealer_get_reveal_child(revealer) != 0, "the header is revealed")
        refresh.setBusy(false)
        expect(gtk_revealer_get_reveal_child(revealer) == 0, "the header is hidden")
        await window.drawn()
        window.close()
        expect(refresh.header == nil && refresh.widget == nil, "widgets are left")
    }

    /// Emits the signal of a scrolled window that is pulled beyond an edge.
    private static func overshoot(_ scrolled: UnsafeMutableRawPointer, _ edge: GtkPositionType) {
        var values = [GValue(), GValue()]
        g_value_init(&values[0], gtk_scrolled_window_get_type())
        g_value_set_object(&values[0], scrolled)
        g_value_init(&values[1], gtk_position_type_get_type())
        g_value_set_enum(&values[1], gint(edge.rawValue))
        g_signal_emitv(values, g_signal_lookup("edge-overshot", gtk_scrolled_window_get_type()), 0, nil)
        for index in values.indices { g_value_unset(&values[index]) }
    }
}
