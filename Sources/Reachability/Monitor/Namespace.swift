/// The network namespace to watch.
public enum NetworkNamespace: Sendable, Hashable {
    /// That of the thread whose `start()` begins the monitor's thread. Who joins that thread from elsewhere is told of the same network.
    case current
    /// A file such as `/run/netns/blue` or `/proc/PID/ns/net`. It is opened by the `start()` that begins the monitor's thread, which stays in
    /// the namespace found then, whatever becomes of the file.
    case path(String)
    /// An open descriptor of such a file. It is duplicated by the `start()` that begins the monitor's thread, and may be closed when that
    /// has returned; a start after everything was stopped needs it again.
    case descriptor(Int32)
}
