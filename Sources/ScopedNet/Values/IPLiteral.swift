/// An IP address written as a literal. An IPv4 address mapped into IPv6 (`::ffff:1.2.3.4`) is the IPv4 address.
struct IPLiteral: Hashable, Sendable {
    /// 4 or 16.
    let bytes: [UInt8]

    /// Reads `1.2.3.4` (four decimal numbers without leading zeros) or an IPv6 address (RFC 4291 section 2.2), with or without
    /// brackets; a zone (`%eth0`) is ignored.
    init?(_ text: some StringProtocol) {
        var text = String(text)
        if text.utf8.first == UInt8(ascii: "[") {
            guard text.utf8.last == UInt8(ascii: "]") else { return nil }
            text = String(text.dropFirst().dropLast())
        }
        if let zone = text.firstIndex(of: "%") { text = String(text[..<zone]) }
        guard let bytes = text.contains(":") ? Self.ipv6(text) : Self.ipv4(text) else { return nil }
        let mappedPrefix: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]
        self.bytes = bytes.starts(with: mappedPrefix) ? Array(bytes[12...]) : bytes
    }

    /// Whether the first `length` bits are those of `network`, which must be of the same family.
    func hasPrefix(_ length: Int, of network: IPLiteral) -> Bool {
        guard bytes.count == network.bytes.count, (0...bytes.count * 8).contains(length) else { return false }
        let whole = length / 8
        guard bytes[..<whole] == network.bytes[..<whole] else { return false }
        let rest = length % 8
        return rest == 0 || (bytes[whole] ^ network.bytes[whole]) >> (8 - rest) == 0
    }

    private static func ipv4(_ text: some StringProtocol) -> [UInt8]? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        var bytes: [UInt8] = []
        for part in parts {
            guard (1...3).contains(part.utf8.count), part.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
                part.utf8.count == 1 || part.utf8.first != 0x30, let number = UInt8(part)
            else { return nil }
            bytes.append(number)
        }
        return bytes
    }

    private static func ipv6(_ text: String) -> [UInt8]? {
        guard let gap = text.firstRange(of: "::") else {
            guard let bytes = groups(text[...]), bytes.count == 16 else { return nil }
            return bytes
        }
        let (before, after) = (text[..<gap.lowerBound], text[gap.upperBound...])
        // An IPv4 part can only be the end of the address.
        guard !before.contains("."), let left = before.isEmpty ? [] : groups(before), let right = after.isEmpty ? [] : groups(after)
        else { return nil }
        // The gap stands for at least one group.
        guard left.count + right.count <= 14 else { return nil }
        return left + [UInt8](repeating: 0, count: 16 - left.count - right.count) + right
    }

    private static func groups(_ text: Substring) -> [UInt8]? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        var bytes: [UInt8] = []
        for (index, part) in parts.enumerated() {
            if index == parts.count - 1, part.contains(".") {
                guard let ipv4 = ipv4(part) else { return nil }
                return bytes + ipv4
            }
            guard (1...4).contains(part.utf8.count), part.utf8.allSatisfy(isHexDigit), let group = UInt16(part, radix: 16) else {
                return nil
            }
            bytes += [UInt8(group >> 8), UInt8(group & 0xff)]
        }
        return bytes
    }

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x46).contains(byte) || (0x61...0x66).contains(byte)
    }
}
