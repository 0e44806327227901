import CGalleryGTK
import GLibMainLoop
import Glibc

// `Gallery [--photos N] [--fast] [--pace BYTES] [--server off]`: the wall, and its server. For tests and figures there are `--report`, `--measure`,
// `--textures`, `--megapixels N`, and `--serve` and `--port N` for a server in a process of its own. No `await` at this level: it would make a
// job of the main actor out of the main loop.

let options = Options(CommandLine.arguments)
if options.servesOnly {
    let server = try PhotoServer(options)
    print("port \(server.port)")
    fflush(nil)
    while readLine() != nil {}
    exit(0)
}
guard gtk_init_check() != 0 else {
    print("There is no display: set DISPLAY or WAYLAND_DISPLAY.")
    exit(1)
}
try MainQueueBridge.install()
loadStyle(styleSheet)
let services = try Services(options)
let loop = g_main_loop_new(nil, 0)
var wall: Wall?
Task {
    if options.startsOffline { await services.server?.turn(on: false) }
    let opened = Wall(services, isServerOn: !options.startsOffline)
    wall = opened
    connect(closingOf: opened.window) {
        let (began, requests) = (ContinuousClock.now, services.server?.requestsInFlight ?? Sockets.established(toPort: services.port))
        // The window ends behind this signal, and all of its widgets with it, before the main actor comes to the task.
        Task {
            await services.end(since: began, requests: requests)
            g_main_loop_quit(loop)
        }
    }
    gtk_window_present(opened.window.window)
}
g_main_loop_run(loop)
