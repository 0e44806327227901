import CNetlink

/// The links and addresses of a namespace (pure). Routes are not here on purpose: a copy of them built from events is wrong.
struct InterfaceTable: Equatable {
    private(set) var links: [UInt32: Link] = [:]
    private(set) var addresses: [LocalAddress.Key: LocalAddress] = [:]

    init() {}

    /// What a change of the table means for the paths that were found with it.
    enum Effect: Equatable {
        case none, mayDiffer
        /// A path over this interface has lost what it rests on: the link or its carrier.
        case loss(UInt32)
        /// A path that starts from this address has lost its source.
        case addressLoss(LocalAddress.Key)
        /// Something goes of which the kernel tells before it takes away what rests on it.
        case unfinished
    }

    /// Applies an event or a part of a dump: insert, replace or remove by full key, so that replaying what is older than a dump ends right.
    ///
    /// `classify` completes a link whose name, kind or hardware is new.
    mutating func apply(_ message: NetlinkMessage, classify: (Link) -> NetworkInterface.Kind) -> Effect {
        switch Int32(message.type) {
        case Int32(RTM_NEWLINK):
            guard let link = Link(message), !link.name.isEmpty else { return .none }
            return insert(link, classify: classify)
        case Int32(RTM_DELLINK):
            // A bridge's port that leaves it comes as a removal too, of another family; the link stays.
            guard let link = Link(message) else { return .none }
            return remove(link: link.index)
        case Int32(RTM_NEWADDR):
            guard let address = LocalAddress(message) else { return .none }
            return insert(address)
        case Int32(RTM_DELADDR):
            guard let address = LocalAddress(message) else { return .none }
            addresses[address.key] = nil
            return .addressLoss(address.key)
        case Int32(RTM_DELNEXTHOP): return .unfinished
        default:
            // Rules and next hops: nothing to keep, everything to ask again.
            return .mayDiffer
        }
    }

    mutating func insert(_ link: Link, classify: (Link) -> NetworkInterface.Kind) -> Effect {
        var link = link
        let old = links[link.index]
        if let old, old.name == link.name, old.driver == link.driver, old.hardwareType == link.hardwareType {
            link.kind = old.kind
        } else {
            link.kind = classify(link)
        }
        links[link.index] = link
        guard let old else { return .mayDiffer }
        if old.canCarry, !link.canCarry { return .loss(link.index) }
        return old.hasSameEffect(as: link) ? .none : .mayDiffer
    }

    mutating func insert(_ address: LocalAddress) -> Effect {
        guard let old = addresses.updateValue(address, forKey: address.key) else { return .mayDiffer }
        if address.isNotReady, !old.isNotReady { return .addressLoss(address.key) }
        return old.hasSameEffect(as: address) ? .none : .mayDiffer
    }

    mutating func remove(link index: UInt32) -> Effect {
        addresses = addresses.filter { $0.key.interface != index }
        links[index] = nil
        return .loss(index)
    }

    /// What was there before and is not now: of what happened between two dumps nobody may have told.
    func losses(since old: InterfaceTable) -> Losses {
        var losses = Losses()
        for (index, link) in old.links where link.canCarry && links[index]?.canCarry != true { losses.interfaces.insert(index) }
        for (key, address) in old.addresses where !address.isNotReady && addresses[key]?.isNotReady != false {
            losses.addresses.insert(key.address)
        }
        return losses
    }

    /// Whether one of these is gone, down or without a carrier.
    func isDead(anyOf interfaces: [NetworkInterface]) -> Bool { interfaces.contains { links[$0.index]?.canCarry != true } }

    /// An address of this family on this link that could be a source once it is ready.
    func hasUnreadyAddress(on interface: UInt32, family: IPAddress.Family) -> Bool {
        addresses.values.contains { address in
            address.key.interface == interface && address.address.family == family && address.isNotReady && address.address.isUsableSource
        }
    }

    /// Whether the kernel's chosen source is one that it may not use yet.
    func isUnready(_ source: IPAddress, on interface: UInt32) -> Bool {
        var found = false
        for address in addresses.values where address.address == source {
            if !address.isNotReady { return false }
            found = true
        }
        return found
    }
}
