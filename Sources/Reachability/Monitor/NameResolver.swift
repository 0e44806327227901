import Glibc

/// From names to addresses. Called on a thread of its own, where it may block.
public protocol NameResolver: Sendable {
    /// Nil when the name cannot be resolved now.
    func addresses(of host: String) -> [IPAddress]?
}

/// The system's resolver, getaddrinfo(3).
public struct SystemNameResolver: NameResolver {
    /// Makes the resolver; it has no state.
    public init() {}

    /// Asks getaddrinfo(3), which blocks for as long as the name servers let it wait. Nil when there is no address.
    public func addresses(of host: String) -> [IPAddress]? {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, nil, &hints, &list) == 0 else { return nil }
        defer { freeaddrinfo(list) }
        var addresses: [IPAddress] = []
        var entry = list
        while let current = entry {
            if let address = Self.address(current.pointee), !addresses.contains(address) { addresses.append(address) }
            entry = current.pointee.ai_next
        }
        return addresses.isEmpty ? nil : addresses
    }

    private static func address(_ entry: addrinfo) -> IPAddress? {
        let bytes = UnsafeRawBufferPointer(start: entry.ai_addr, count: Int(entry.ai_addrlen))
        switch entry.ai_family {
        case AF_INET where bytes.count >= 8: return IPAddress(bytes: bytes[4..<8])
        case AF_INET6 where bytes.count >= 28:
            return IPAddress(bytes: bytes[8..<24], scopeID: bytes.value(at: 24, as: UInt32.self) ?? 0)
        default: return nil
        }
    }
}
