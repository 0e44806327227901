/// The rule for the addresses that a session may connect to; it keeps requests out of the network behind it (SSRF) (pure).
///
/// It is applied to the address that a socket is about to be connected to, after the name was resolved: neither a name that leads to
/// `127.0.0.1`, nor one that leads elsewhere a second time (DNS rebinding), nor another spelling of an address (`0x7f.1`, `2130706433`,
/// `::ffff:127.0.0.1`) gets past it. It belongs to ``ConnectionSettings``, so that connections made without it are never used with it.
///
/// 1. What is in ``denied`` is refused.
/// 2. What is in ``allowed`` is connected to.
/// 3. ``defaultRule`` decides about all others.
///
/// An IPv6 address that stands for an IPv4 one (NAT64 `64:ff9b::/96`, 6to4, ISATAP) is denied like that one; mapped addresses *are* IPv4.
///
/// An address behind an intermediary is not known: requests through a proxy or over a unix socket fail with
/// ``NetworkError/Code/addressRefused`` before anything is sent. So do those none of whose addresses is left; that is never tried again.
public struct AddressFilter: Sendable, Hashable {
    /// The rule for addresses that neither list has.
    public enum DefaultRule: Sendable, Hashable {
        /// Ordinary addresses of the public internet only: no private, loopback, link-local, carrier NAT, multicast, unspecified, reserved,
        /// documentation or benchmarking range of the registries of RFC 6890, and none where clouds keep metadata.
        case publicOnly
        /// Every address.
        case allow
        /// No address.
        case refuse
    }

    /// Connected to even where ``defaultRule`` refuses it. Empty by default.
    public var allowed: [AddressFilter.Range]
    /// Never connected to. Empty by default.
    public var denied: [AddressFilter.Range]
    /// The rule where neither list has the address. Default: ``DefaultRule/publicOnly``.
    public var defaultRule: DefaultRule

    /// Creates a filter of two lists and a rule for all other addresses.
    public init(default rule: DefaultRule = .publicOnly, allowed: [AddressFilter.Range] = [], denied: [AddressFilter.Range] = []) {
        defaultRule = rule
        self.allowed = allowed
        self.denied = denied
    }

    /// The public internet, and nothing else.
    public static let publicOnly = AddressFilter()

    /// Why an address is refused; nil when it is not.
    func refusal(of address: IPLiteral) -> String? {
        let inside = SpecialAddress.embedded(in: address) ?? SpecialAddress.thisHost(address)
        if let range = denied.first(where: { $0.contains(address) || inside.map($0.contains) ?? false }) { return "denied by \(range)" }
        if allowed.contains(where: { $0.contains(address) }) { return nil }
        switch defaultRule {
        case .publicOnly: return SpecialAddress.purpose(of: address)
        case .allow: return nil
        case .refuse: return "not among those allowed"
        }
    }
}
