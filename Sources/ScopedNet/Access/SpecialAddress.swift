/// Which addresses are not the public internet's: the special-purpose registries of RFC 6890 and what has come since (pure).
enum SpecialAddress {
    /// What the address is for; nil where it is an ordinary public one.
    static func purpose(of address: IPLiteral) -> String? {
        address.bytes.count == 4 ? purpose(ofIPv4: address) : purpose(ofIPv6: address)
    }

    /// The IPv4 address that packets to this IPv6 address end up at, where its prefix says so.
    static func embedded(in address: IPLiteral) -> IPLiteral? {
        let bytes = address.bytes
        guard bytes.count == 16 else { return nil }
        if nat64.contains(address) { return IPLiteral(wire: Array(bytes[12...])) }
        // The client behind the server's address, its bits turned over (RFC 4380 section 4).
        if teredo.contains(address) { return IPLiteral(wire: bytes[12...].map { ~$0 }) }
        if sixToFour.contains(address) { return IPLiteral(wire: Array(bytes[2..<6])) }
        // ISATAP (RFC 5214 section 6.1), whatever the prefix is.
        if bytes[8] & 0xfc == 0, bytes[9] == 0, bytes[10] == 0x5e, bytes[11] == 0xfe { return IPLiteral(wire: Array(bytes[12...])) }
        return nil
    }

    /// Where the system connects to for the unspecified address: this machine.
    static func thisHost(_ address: IPLiteral) -> IPLiteral? {
        guard address.bytes.allSatisfy({ $0 == 0 }) else { return nil }
        return IPLiteral(wire: address.bytes.count == 4 ? [127, 0, 0, 1] : [UInt8](repeating: 0, count: 15) + [1])
    }

    private static func purpose(ofIPv4 address: IPLiteral) -> String? { ipv4.first { $0.range.contains(address) }?.purpose }

    private static func purpose(ofIPv6 address: IPLiteral) -> String? {
        if let known = ipv6.first(where: { $0.range.contains(address) }) { return known.purpose }
        let inside = embedded(in: address)
        if let inside, let purpose = purpose(ofIPv4: inside) { return "\(inside) in IPv6: \(purpose)" }
        if nat64.contains(address) { return nil }
        // Global unicast so far (RFC 4291 section 2.4, IANA's address space).
        return global.contains(address) ? nil : "not global unicast"
    }

    private typealias Entry = (range: AddressFilter.Range, purpose: String)

    private static func v4(_ bytes: [UInt8], _ length: Int, _ purpose: String) -> Entry {
        (AddressFilter.Range(bytes, of: 4, length: length), purpose)
    }

    private static func v6(_ bytes: [UInt8], _ length: Int, _ purpose: String) -> Entry {
        (AddressFilter.Range(bytes, of: 16, length: length), purpose)
    }

    private static let ipv4: [Entry] = [
        v4([0], 8, "this network"), v4([10], 8, "private"), v4([100, 64], 10, "shared by a carrier's NAT"), v4([127], 8, "loopback"),
        v4([169, 254], 16, "link-local, where clouds keep their metadata"), v4([172, 16], 12, "private"),
        v4([192, 0, 0], 24, "protocol assignments"), v4([192, 0, 2], 24, "documentation"), v4([192, 88, 99], 24, "6to4 relays"),
        v4([192, 168], 16, "private"), v4([198, 18], 15, "benchmarking"), v4([198, 51, 100], 24, "documentation"),
        v4([203, 0, 113], 24, "documentation"), v4([224], 4, "multicast"), v4([255, 255, 255, 255], 32, "broadcast"),
        v4([240], 4, "reserved"),
        // Not in the registries: a public address that each virtual machine of Azure reaches its host's metadata at.
        v4([168, 63, 129, 16], 32, "a cloud's metadata"),
    ]

    private static let ipv6: [Entry] = [
        v6([], 128, "unspecified"), v6([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], 128, "loopback"),
        v6([], 96, "IPv4-compatible"), v6([0x00, 0x64, 0xff, 0x9b, 0x00, 0x01], 48, "local translation to IPv4"),
        v6([0x01], 64, "discard-only"), v6([0x20, 0x01], 32, "Teredo"), v6([0x20, 0x01], 23, "protocol assignments"),
        v6([0x20, 0x01, 0x0d, 0xb8], 32, "documentation"), v6([0x3f, 0xff], 20, "documentation"), v6([0x5f], 16, "segment routing"),
        v6([0xfc], 7, "unique local"), v6([0xfe, 0x80], 10, "link-local"), v6([0xfe, 0xc0], 10, "site-local"), v6([0xff], 8, "multicast"),
    ]

    /// RFC 6052: the one prefix for translation that everybody knows. Others are a network's own and cannot be told.
    private static let nat64 = AddressFilter.Range([0x00, 0x64, 0xff, 0x9b], of: 16, length: 96)
    /// RFC 3056.
    private static let sixToFour = AddressFilter.Range([0x20, 0x02], of: 16, length: 16)
    private static let teredo = AddressFilter.Range([0x20, 0x01], of: 16, length: 32)
    private static let global = AddressFilter.Range([0x20], of: 16, length: 3)
}
