import Glibc

/// Addresses as bytes.
extension IPLiteral: CustomStringConvertible {
    /// The beginning of an address of `count` bytes, 4 or 16; zeros follow.
    init(padded bytes: [UInt8], count: Int) {
        self.init(exactly: Array((bytes + [UInt8](repeating: 0, count: count)).prefix(count)))
    }

    /// From the bytes of a socket address. IPv4 mapped into IPv6 is IPv4.
    init(wire bytes: [UInt8]) {
        let isMapped = bytes.count == 16 && bytes[..<10].allSatisfy { $0 == 0 } && bytes[10] == 0xff && bytes[11] == 0xff
        self.init(exactly: isMapped ? Array(bytes[12...]) : bytes)
    }

    private init(exactly bytes: [UInt8]) { self.bytes = bytes }

    /// Whether all bits behind the first `length` are zero.
    func isZero(behind length: Int) -> Bool {
        bytes.enumerated().allSatisfy { index, byte in
            let kept = min(max(length - index * 8, 0), 8)
            return kept == 8 || byte << kept == 0
        }
    }

    /// As of inet_ntop(3).
    var description: String {
        var text = [CChar](repeating: 0, count: 64)
        guard inet_ntop(bytes.count == 4 ? AF_INET : AF_INET6, bytes, &text, socklen_t(text.count)) != nil else { return "?" }
        return text.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "?" }
    }
}
