/// What a batch of events came to (pure).
struct KernelChange: Equatable {
    /// A path may look different now.
    private(set) var mayDiffer = false
    /// The interfaces that lost what paths over them rest on.
    private(set) var losses: Set<UInt32> = []

    mutating func add(_ effect: InterfaceTable.Effect) {
        switch effect {
        case .none: break
        case .mayDiffer: mayDiffer = true
        case .loss(let interface):
            mayDiffer = true
            losses.insert(interface)
        }
    }
}
