extension AddressFilter {
    /// A block of IP addresses: `10.0.0.0/8`, `2001:db8::/32`, or one address (RFC 4632 section 3.1, RFC 4291 section 2.3) (pure).
    ///
    /// IPv4 mapped into IPv6 (`::ffff:10.0.0.0/104`) is the IPv4 block.
    public struct Range: Sendable, Hashable {
        let network: IPLiteral
        /// Bits that count, 0 to 32 or 128.
        let length: Int

        /// Reads a block of addresses.
        ///
        /// - Parameter text: an address, and where it is a block `/` and the number of bits that count. Without a zone or brackets, and
        ///   with zeros behind those bits: `10.1.2.3/8` is refused, since it may be a slip.
        /// - Throws: ``NetworkError`` with the code `invalidOption` for anything else.
        public init(_ text: String) throws(NetworkError) {
            let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
            guard let address = parts.first, !text.utf8.contains(where: { [UInt8(ascii: "%"), UInt8(ascii: "[")].contains($0) }),
                let network = IPLiteral(address)
            else { throw .invalidRange(text, "it begins with no IP address") }
            // An IPv4 address that was written as IPv6 counts its bits from there.
            let skipped = address.utf8.contains(UInt8(ascii: ":")) && network.bytes.count == 4 ? 96 : 0
            var length = network.bytes.count * 8
            if parts.count == 2 {
                guard let written = Self.number(parts[1]), (skipped...length + skipped).contains(written) else {
                    throw .invalidRange(text, "the number behind '/' must be \(skipped) to \(length + skipped)")
                }
                length = written - skipped
            }
            guard network.isZero(behind: length) else { throw .invalidRange(text, "there are bits behind the first \(length)") }
            self.network = network
            self.length = length
        }

        /// Makes a block of the beginning of an address; zeros follow up to `count` bytes.
        init(_ bytes: [UInt8], of count: Int, length: Int) {
            network = IPLiteral(padded: bytes, count: count)
            self.length = length
        }

        /// One to three digits without a leading zero.
        private static func number(_ text: Substring) -> Int? {
            guard (1...3).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
                text.utf8.count == 1 || text.utf8.first != 0x30
            else { return nil }
            return Int(text)
        }

        /// Whether an address, written as in a URL, lies in the block. False for what is no address.
        public func contains(_ address: String) -> Bool { IPLiteral(address).map(contains) ?? false }

        func contains(_ address: IPLiteral) -> Bool { address.hasPrefix(length, of: network) }
    }
}

extension AddressFilter.Range: CustomStringConvertible {
    /// The block in CIDR notation, such as `10.0.0.0/8`; one address has its full length, too.
    public var description: String { "\(network)/\(length)" }
}

extension NetworkError {
    fileprivate static func invalidRange(_ text: String, _ why: String) -> NetworkError {
        NetworkError(.invalidOption, phase: .preparing, message: "'\(text.prefix(80))' is no range of addresses: \(why)")
    }
}
