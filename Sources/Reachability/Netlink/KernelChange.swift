/// What a batch of events came to (pure).
struct KernelChange: Equatable {
    /// A path may look different now.
    private(set) var mayDiffer = false
    /// Routes may still be going that rest on what the events tell of. An address and a next hop are told of first and acted upon then, and
    /// of the IPv4 routes that go with the last of them nothing is told (`remove_nexthop` and `__inet_del_ifa` of Linux).
    private(set) var isUnfinished = false
    private(set) var losses = Losses()

    mutating func add(_ effect: InterfaceTable.Effect) {
        switch effect {
        case .none: break
        case .mayDiffer: mayDiffer = true
        case .loss(let interface):
            mayDiffer = true
            losses.interfaces.insert(interface)
        case .addressLoss(let key):
            mayDiffer = true
            isUnfinished = true
            losses.addresses.insert(key.address)
        case .unfinished:
            mayDiffer = true
            isUnfinished = true
        }
    }
}
