/// What paths may rest on and what has gone (pure).
struct Losses: Equatable {
    /// Links that are gone, down or without a carrier.
    var interfaces: Set<UInt32> = []
    var addresses: Set<IPAddress> = []

    var isEmpty: Bool { interfaces.isEmpty && addresses.isEmpty }

    mutating func formUnion(_ other: Losses) {
        interfaces.formUnion(other.interfaces)
        addresses.formUnion(other.addresses)
    }

    /// Whether a path that was told to work leads over one of these links, or starts from one of these addresses.
    func concern(_ path: NetworkPath?) -> Bool {
        guard let path, path.isSatisfied else { return false }
        return path.interfaces.contains { interfaces.contains($0.index) } || path.localAddresses.contains(where: addresses.contains)
    }
}
