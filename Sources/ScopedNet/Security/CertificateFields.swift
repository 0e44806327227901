import FoundationEssentials

/// What a certificate says of itself (RFC 5280 section 4.1). Nothing is verified here. (pure)
struct CertificateFields: Hashable, Sendable {
    let issuer: String
    let subject: String
    let notBefore: Date?
    let notAfter: Date?
    /// The whole `SubjectPublicKeyInfo`.
    let publicKey: [UInt8]

    /// - Returns: nil for what is not the DER of one certificate.
    init?(_ der: [UInt8]) {
        var outer = DERReader(der[...])
        guard var certificate = outer.next(DERReader.Tag.sequence)?.inside, outer.isAtEnd,
            var fields = certificate.next(DERReader.Tag.sequence)?.inside
        else { return nil }
        // [0] version, which certificates of version 1 leave out.
        _ = fields.next(0xA0)
        guard fields.next(DERReader.Tag.integer) != nil, fields.next(DERReader.Tag.sequence) != nil,
            let issuer = fields.next(DERReader.Tag.sequence), let validity = fields.next(DERReader.Tag.sequence),
            let subject = fields.next(DERReader.Tag.sequence), let key = fields.next(DERReader.Tag.sequence), Self.isPublicKey(key)
        else { return nil }
        self.issuer = DistinguishedNameText.text(of: issuer)
        self.subject = DistinguishedNameText.text(of: subject)
        var dates = DERReader(validity.content)
        notBefore = dates.next().flatMap(Self.date)
        notAfter = dates.next().flatMap(Self.date)
        publicKey = Array(key.whole)
    }

    /// Whether these bytes are one `SubjectPublicKeyInfo`, and nothing else (RFC 5280 section 4.1.2.7).
    static func isPublicKey(_ der: [UInt8]) -> Bool {
        var reader = DERReader(der[...])
        guard let key = reader.next(DERReader.Tag.sequence), reader.isAtEnd else { return false }
        return isPublicKey(key)
    }

    private static func isPublicKey(_ key: DERReader.Element) -> Bool {
        var parts = DERReader(key.content)
        guard let algorithm = parts.next(DERReader.Tag.sequence), let bits = parts.next(DERReader.Tag.bitString), parts.isAtEnd else {
            return false
        }
        return !algorithm.content.isEmpty && bits.content.count > 1
    }

    /// `YYMMDDHHMMSSZ` until 2049, `YYYYMMDDHHMMSSZ` from then on (RFC 5280 section 4.1.2.5).
    private static func date(_ element: DERReader.Element) -> Date? {
        let yearDigits: Int
        switch element.tag {
        case DERReader.Tag.utcTime: yearDigits = 2
        case DERReader.Tag.generalizedTime: yearDigits = 4
        default: return nil
        }
        let text = Array(element.content)
        guard text.count == yearDigits + 11, text.last == UInt8(ascii: "Z"), text.dropLast().allSatisfy({ (0x30...0x39).contains($0) })
        else { return nil }
        func number(_ range: Range<Int>) -> Int { text[range].reduce(0) { $0 * 10 + Int($1 - 0x30) } }
        var year = number(0..<yearDigits)
        if yearDigits == 2 { year += year >= 50 ? 1_900 : 2_000 }
        let parts = (0..<5).map { number((yearDigits + 2 * $0)..<(yearDigits + 2 * $0 + 2)) }
        guard (1...12).contains(parts[0]), (1...CivilDay.daysInMonth(parts[0], year: Int64(year))).contains(parts[1]), parts[2] < 24,
            parts[3] < 60, parts[4] < 60
        else { return nil }
        let day = CivilDay(year: Int64(year), month: parts[0], day: parts[1]).dayNumber
        return Date(timeIntervalSince1970: Double(day * 86_400 + Int64(parts[2] * 3_600 + parts[3] * 60 + parts[4])))
    }
}
