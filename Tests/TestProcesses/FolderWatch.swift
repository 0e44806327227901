import CNetlink
import Glibc

/// Tells when a file appears in a folder (inotify(7)).
package final class FolderWatch: Sendable {
    private let descriptor: Int32

    package init(_ path: String) {
        descriptor = inotify_init1(Int32(CNL_INOTIFY_FLAGS))
        inotify_add_watch(descriptor, path, CNL_WATCH_DIRECTORY)
    }

    deinit { close(descriptor) }

    /// False when none has appeared within a minute.
    package func waitForFile() async -> Bool {
        await ProgramRun.onThread { [descriptor] in
            var wait = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            while true {
                let count = poll(&wait, 1, 60_000)
                if count >= 0 || errno != EINTR { return count == 1 }
            }
        }
    }
}
