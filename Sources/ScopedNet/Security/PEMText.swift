import FoundationEssentials

/// The certificates in a PEM text (RFC 7468 section 5). (pure)
enum PEMText {
    private static let begin = Array("-----BEGIN CERTIFICATE-----".utf8)
    private static let end = Array("-----END CERTIFICATE-----".utf8)

    /// - Returns: what each holds, not yet looked at; nil where one has no end or is no base64.
    static func certificates(in text: [UInt8]) -> [[UInt8]]? {
        var found: [[UInt8]] = []
        var current: [UInt8]?
        for line in text.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }) {
            let line = trimmed(line)
            if line.elementsEqual(begin) {
                guard current == nil else { return nil }
                current = []
            } else if line.elementsEqual(end) {
                guard let coded = current, let data = Data(base64Encoded: String(decoding: coded, as: UTF8.self)), !data.isEmpty else {
                    return nil
                }
                found.append(Array(data))
                current = nil
            } else {
                current?.append(contentsOf: line)
            }
        }
        return current == nil ? found : nil
    }

    private static func trimmed(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var line = line
        while line.first == 0x20 || line.first == 0x09 { line.removeFirst() }
        while line.last == 0x20 || line.last == 0x09 { line.removeLast() }
        return line
    }
}
