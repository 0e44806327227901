import CViewsGTK
import GLibMainLoop
import Glibc

// `GTKProbe SCENARIO`: one scenario in a process whose main thread is that of GTK, before an X server. It prints each expectation that does not
// hold, and then "passed" or "failed". No `await` at this level: it would make a job of the main actor out of the main loop.

guard CommandLine.arguments.count == 2, let scenario = Scenarios.all[CommandLine.arguments[1]] else {
    print(Scenarios.all.keys.sorted().joined(separator: "\n"))
    exit(2)
}
guard gtk_init_check() != 0 else {
    print("no display")
    exit(3)
}
try MainQueueBridge.install()
exit(Probe.run(scenario))
