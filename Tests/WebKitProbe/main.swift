import CViewsWebKit
import FoundationEssentials
import GLibMainLoop
import Glibc
import ScopedNetViews
import ScopedNetWebKit

// `WebKitProbe SCENARIO`: as GTKProbe, for the web view.

guard CommandLine.arguments.count == 2, let scenario = Scenarios.all[CommandLine.arguments[1]] else {
    print(Scenarios.all.keys.sorted().joined(separator: "\n"))
    exit(2)
}
guard gtk_init_check() != 0 else {
    print("no display")
    exit(3)
}
try MainQueueBridge.install()
let loop = g_main_loop_new(nil, 0)
Task { @MainActor in
    await scenario()
    g_main_loop_quit(loop)
}
g_main_loop_run(loop)
print(Scenarios.failures == 0 ? "passed" : "failed")
exit(Scenarios.failures == 0 ? 0 : 1)
