/// What a batch of events came to (pure).
struct KernelChange: Equatable {
    /// A path may look different now.
    private(set) var mayDiffer = false
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
            losses.addresses.insert(key.address)
        }
    }
}
