import HTTPTypes

/// The field `Age` (RFC 9111 section 5.1): how old the response was when another cache sent it.
enum AgeField {
    /// The first member over all lines, in seconds; nil when there is none or it is no number. Proxies in a row have been seen to repeat it.
    static func parse(_ fields: HTTPFields) -> Double? {
        guard let line = fields.lines(.age).first else { return nil }
        let first = line.prefix { $0 != "," }
        return DeltaSeconds.parse(FieldText.trimmed(first))
    }

    static func text(_ seconds: Double) -> String { String(Int64(min(max(seconds, 0), DeltaSeconds.largest))) }
}
