package import Reachability

/// To whom there must be a path before a request can succeed.
package enum ConnectivityTargets {
    /// Any of these will do; none means that the request stays on this machine and waits for nobody.
    ///
    /// A host that is written as an address counts by itself. A name counts as within reach when the network at large is, so that a
    /// misspelt one fails at once, and also when it alone can be reached, as on a local network that leads nowhere else.
    package static func targets(host: String, port: Int, isUnixSocket: Bool, proxy: String?) -> [NetworkPath.Target] {
        if isUnixSocket { return [] }
        if let proxy, let target = NetworkPath.Target(proxy) { return targets(of: target) }
        return targets(of: NetworkPath.Target.host(host, port: UInt16(exactly: port)))
    }

    private static func targets(of target: NetworkPath.Target) -> [NetworkPath.Target] {
        switch target.subject {
        case .defaultPath: [.defaultPath]
        case .address(let address): address.isLoopback ? [] : [target]
        case .host(let name): isLocal(name) ? [] : [.defaultPath, target]
        }
    }

    /// RFC 6761 section 6.3: these names never leave the machine.
    private static func isLocal(_ name: String) -> Bool {
        let name = name.hasSuffix(".") ? name.dropLast() : name[...]
        let lower = name.lowercased()
        return lower == "localhost" || lower.hasSuffix(".localhost")
    }
}
