import Glibc

/// An IPv4 or IPv6 address, with the interface it belongs to where it is link-local.
public struct IPAddress: Sendable, Hashable, CustomStringConvertible {
    /// A version of IP.
    public enum Family: Sendable, Hashable { case v4, v6 }

    /// The version of IP. IPv4 mapped into IPv6 is IPv4 where it was made of text.
    public let family: Family
    /// The index of the interface, for link-local IPv6 addresses; 0 elsewhere.
    public let scopeID: UInt32
    private let high: UInt64
    private let low: UInt64

    private init(family: Family, high: UInt64, low: UInt64, scopeID: UInt32 = 0) {
        self.family = family
        self.high = high
        self.low = low
        self.scopeID = scopeID
    }

    /// From four octets, as in `IPAddress(127, 0, 0, 1)`.
    public init(_ first: UInt8, _ second: UInt8, _ third: UInt8, _ fourth: UInt8) {
        let value = UInt64(first) << 24 | UInt64(second) << 16 | UInt64(third) << 8 | UInt64(fourth)
        self.init(family: .v4, high: 0, low: value)
    }

    /// From the 4 or 16 bytes of the wire; nil for any other count.
    public init?(bytes: some Collection<UInt8>, scopeID: UInt32 = 0) {
        var high: UInt64 = 0
        var low: UInt64 = 0
        for byte in bytes {
            high = high << 8 | low >> 56
            low = low << 8 | UInt64(byte)
        }
        switch bytes.count {
        case 4: self.init(family: .v4, high: 0, low: low)
        case 16: self.init(family: .v6, high: high, low: low, scopeID: scopeID)
        default: return nil
        }
    }

    /// From text: `192.0.2.1`, `2001:db8::1`, `fe80::1%eth0`, with or without brackets. IPv4 mapped into IPv6 becomes IPv4.
    public init?(_ text: some StringProtocol) {
        var text = String(text)
        if text.hasPrefix("["), text.hasSuffix("]") { text = String(text.dropFirst().dropLast()) }
        var scope: UInt32 = 0
        if let percent = text.firstIndex(of: "%") {
            let name = String(text[text.index(after: percent)...])
            scope = UInt32(digits: name) ?? if_nametoindex(name)
            guard scope != 0, text.contains(":") else { return nil }
            text = String(text[..<percent])
        }
        var bytes = [UInt8](repeating: 0, count: 16)
        if inet_pton(AF_INET, text, &bytes) == 1 {
            self.init(bytes: bytes[..<4])
        } else if inet_pton(AF_INET6, text, &bytes) == 1 {
            let isMapped = bytes[..<10].allSatisfy { $0 == 0 } && bytes[10] == 0xff && bytes[11] == 0xff
            if isMapped { self.init(bytes: bytes[12...]) } else { self.init(bytes: bytes, scopeID: scope) }
        } else {
            return nil
        }
    }

    /// 4 or 16 bytes in the order of the wire.
    public var bytes: [UInt8] {
        func octets(_ value: UInt64) -> [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: value >> (56 - 8 * UInt64($0))) } }
        return family == .v4 ? Array(octets(low)[4...]) : octets(high) + octets(low)
    }

    /// The address as text (RFC 5952 for IPv6), such as `192.0.2.1` or `fe80::1%2`; the scope is an index.
    public var description: String {
        var text = [CChar](repeating: 0, count: 64)
        let bytes = self.bytes
        guard inet_ntop(family == .v4 ? AF_INET : AF_INET6, bytes, &text, 64) != nil else { return "?" }
        let address = text.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "?" }
        return scopeID == 0 ? address : "\(address)%\(scopeID)"
    }

    /// `0.0.0.0` or `::`.
    public var isUnspecified: Bool { high == 0 && low == 0 }

    /// `127.0.0.0/8` or `::1`.
    public var isLoopback: Bool { family == .v4 ? low >> 24 == 127 : high == 0 && low == 1 }

    /// `169.254.0.0/16` or `fe80::/10`: good for the neighbours only.
    public var isLinkLocal: Bool { family == .v4 ? low >> 16 == 0xa9fe : high >> 54 == 0x3fa }

    /// `224.0.0.0/4` or `ff00::/8`.
    public var isMulticast: Bool { family == .v4 ? low >> 28 == 0xe : high >> 56 == 0xff }

    /// A source with which one gets beyond the link: a global or a unique local (private) address. Where an interface has no address yet,
    /// the kernel answers with `::1`.
    var isUsableSource: Bool { !isUnspecified && !isLinkLocal && !isLoopback && !isMulticast }

    var systemFamily: UInt8 { UInt8(family == .v4 ? AF_INET : AF_INET6) }

    func with(scopeID: UInt32) -> IPAddress { IPAddress(family: family, high: high, low: low, scopeID: scopeID) }
}
