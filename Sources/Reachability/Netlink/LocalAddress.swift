import CNetlink

/// An address of this host as the kernel describes it (pure).
struct LocalAddress: Equatable {
    /// What makes it that address and no other: fe80::1 may be on every link.
    struct Key: Hashable {
        var interface: UInt32
        var address: IPAddress
        var prefixLength: UInt8
    }

    var key: Key
    /// `IFA_F_…`, all 32 bits.
    var flags: UInt32

    var address: IPAddress { key.address }
    /// Still being checked for duplicates, or found to be one: no source yet.
    var isNotReady: Bool { flags & UInt32(IFA_F_TENTATIVE | IFA_F_DADFAILED | IFA_F_OPTIMISTIC) != 0 }

    /// A deprecated address works on, and routers make that flag flap.
    func hasSameEffect(as other: LocalAddress) -> Bool { key == other.key && isNotReady == other.isNotReady }
}

extension LocalAddress {
    /// From RTM_NEWADDR or RTM_DELADDR; nil where it is cut short, or of another family.
    init?(_ message: NetlinkMessage) {
        let payload = message.payload
        guard let prefixLength = payload.value(at: 1, as: UInt8.self), let shortFlags = payload.value(at: 2, as: UInt8.self),
            let index = payload.value(at: 4, as: UInt32.self), let attributes = RouteAttributes(of: message, after: 8)
        else { return nil }
        var local: IPAddress?
        var other: IPAddress?
        var flags = UInt32(shortFlags)
        for attribute in attributes {
            switch Int(attribute.type) {
            // On point-to-point links the other attribute is the peer's address.
            case Int(IFA_LOCAL): local = IPAddress(bytes: attribute.payload)
            case Int(IFA_ADDRESS): other = IPAddress(bytes: attribute.payload)
            case Int(IFA_FLAGS): flags = attribute.payload.value(at: 0, as: UInt32.self) ?? flags
            default: break
            }
        }
        guard let address = local ?? other else { return nil }
        self.init(key: Key(interface: index, address: address, prefixLength: prefixLength), flags: flags)
    }
}
