import CViewsGTK
import Foundation
import ScopedNetGTK
import ScopedNetViews

@MainActor
enum Dialogs {
    private struct Failure: LocalizedError {
        var errorDescription: String?
        var recoverySuggestion: String?
    }

    private static func text(_ text: String, _ recovery: String? = nil) -> ErrorText {
        ErrorText(Failure(errorDescription: text, recoverySuggestion: recovery))
    }

    static func oneAtATime() async {
        let window = TestWindow(nil)
        let dialog = GTKErrorDialog(over: window.address)
        dialog.present(text("first %s", "Try again."))
        dialog.present(text("second"))
        dialog.present(text("first %s"))
        dialog.present(text("second"))
        await window.drawn()
        expect(dialog.presented?.text == "first %s" && windows() == 2, "one dialog is shown: \(windows())")
        dialog.dismiss()
        expect(dialog.presented?.text == "second" && windows() == 2, "the next is shown")
        dialog.dismiss()
        expect(dialog.presented == nil && windows() == 1, "each text is shown once")
        window.close()
    }

    static func endsWithItsWindow() async {
        let window = TestWindow(nil)
        let dialog = GTKErrorDialog(over: window.address)
        dialog.present(text("first"))
        dialog.present(text("second"))
        await window.drawn()
        window.close()
        expect(dialog.presented == nil && windows() == 0, "dialogs are left: \(windows())")
        dialog.present(text("third"))
        expect(dialog.presented == nil, "a dialog without a window")
    }

    private static func windows() -> UInt32 { g_list_model_get_n_items(gtk_window_get_toplevels()) }
}
