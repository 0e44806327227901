import FoundationEssentials
import Glibc
import Persistence

/// Puts one entry that would not be written for an hour (or, asked to, at once), and waits for a signal.
enum Waiting {
    static func run() async {
        var configuration = StoreConfiguration(directory: argument(1))
        configuration.limits.dirtyAge = argument(2) == "written" ? .milliseconds(20) : .seconds(3600)
        configuration.onEvent = { if case .wrote = $0 { say("wrote") } }
        let store = Store(configuration)
        guard await store.opened() == .open else { fail("\(store.condition)") }
        var flush: TerminationFlush?
        switch argument(2) {
        case "signals": flush = try? TerminationFlush([store])
        case "handled":
            signal(SIGTERM) { _ in _exit(42) }
            flush = try? TerminationFlush([store])
        default: break
        }
        store.put(Content.entry(1, version: 1, body: .data(Content.body(1, 1))))
        say("ready")
        await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
        withExtendedLifetime(flush) {}
    }
}
