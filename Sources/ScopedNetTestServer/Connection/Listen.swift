#if TestServer
/// Where a server listens: always on this machine only.
public struct Listen: Sendable, Hashable {
    enum Address: Sendable, Hashable {
        case host(String, port: Int)
        case unixSocket(String)
    }

    var address: Address

    /// `127.0.0.1`, on a free port.
    public static var ipv4: Listen { .ipv4(port: 0) }

    /// `[::1]`, on a free port.
    public static var ipv6: Listen { .ipv6(port: 0) }

    /// `127.0.0.1`, on the given port; zero takes a free one.
    public static func ipv4(port: Int) -> Listen { Listen(address: .host("127.0.0.1", port: port)) }

    /// `[::1]`, on the given port; zero takes a free one.
    public static func ipv6(port: Int) -> Listen { Listen(address: .host("::1", port: port)) }

    /// A Unix domain socket. A socket file left behind at `path` is replaced; `stop()` removes it.
    public static func unixSocket(_ path: String) -> Listen { Listen(address: .unixSocket(path)) }

    /// The address with a free port replaced by the port it was given, so that a restarted server is found again.
    func pinned(to port: Int?) -> Listen {
        guard case .host(let host, port: 0) = address, let port else { return self }
        return Listen(address: .host(host, port: port))
    }
}
#endif
