import CViewsGTK
import GLibMainLoop
import ScopedNet
import ScopedNetViews

func run(_ urls: [String]) throws {
    guard gtk_init_check() != 0 else { return }
    try MainQueueBridge.install()
    let views = ViewObserver()
    var configuration = Session.Configuration()
    configuration.cache = ResponseCache(named: "com.example.photos")
    configuration.observers.append(views)
    MainActor.assumeIsolated {
        let wall = PhotoWall(Session(configuration: configuration), views)
        for url in urls { wall.add(url) }
        gtk_window_present(wall.window)
        // Until the window is closed.
        while g_list_model_get_n_items(gtk_window_get_toplevels()) > 0 { g_main_context_iteration(nil, 1) }
        withExtendedLifetime(wall) {}
    }
}
