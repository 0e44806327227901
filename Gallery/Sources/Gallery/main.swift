import CGalleryGTK
import GLibMainLoop
import Glibc
import ScopedNet
import ScopedNetGTK
import ScopedNetImages
import ScopedNetViews

// `Gallery [--photos N] [--fast]`: the wall, and its server. No `await` at this level: it would make a job of the main actor out of the main loop.

let arguments = CommandLine.arguments
let count = arguments.firstIndex(of: "--photos").flatMap { arguments.dropFirst($0 + 1).first.flatMap { Int($0) } } ?? 500
guard gtk_init_check() != 0 else {
    print("There is no display: set DISPLAY or WAYLAND_DISPLAY.")
    exit(1)
}
try MainQueueBridge.install()
let server = try PhotoServer(count: count, pace: arguments.contains("--fast") ? nil : 8 << 10)
loadStyle(
    """
    .wall, .page { background: #16181d; }
    .wall gridview { background: transparent; padding: 10px; }
    .wall gridview > child { padding: 6px; background: transparent; }
    .photo { background: #23262d; border-radius: 12px; }
    .caption { color: white; font-weight: 600; padding: 22px 12px 8px 12px; background: linear-gradient(transparent, rgba(0, 0, 0, 0.6)); }
    .banner { color: #1c1500; background: #f3c64b; padding: 6px; }
    .wall headerbar { background: #1d2026; color: #e8eaee; border: none; box-shadow: none; }
    .wall headerbar text { color: #e8eaee; caret-color: #e8eaee; background: #2a2e37; border: none; outline: none; }
    .wall headerbar entry { color: #e8eaee; background: #2a2e37; border: none; border-radius: 9px; }
    progressbar > trough { min-height: 3px; background: transparent; border: none; }
    progressbar > trough > progress { min-height: 3px; min-width: 2px; background: #5b9dff; border: none; border-radius: 0; margin: 0; }
    """)

let views = ViewObserver()
var configuration = Session.Configuration()
configuration.baseURL = server.url
configuration.cache = ResponseCache(named: "scopednet-gallery")
configuration.observers.append(views)
let session = Session(configuration: configuration)
var loading = ImageLoader.Configuration()
loading.order = .lastInFirstOut
let loop = g_main_loop_new(nil, 0)
let wall = Wall(session, ImageLoader(session, configuration: loading), views)
connect(plain: "destroy", of: wall.window) { g_main_loop_quit(loop) }
gtk_window_present(wall.window.window)
g_main_loop_run(loop)
