/// The identity of a request in a distributed trace, as the `traceparent` field carries it (W3C Trace Context, section 3.2).
///
/// ``TraceContextInterceptor`` sends one with each exchange. Where a tracing backend records spans, ScopedNetTracing sends the backend's.
public struct TraceContext: Sendable, Hashable, LosslessStringConvertible {
    /// The trace, in 32 hexadecimal digits; never all zero.
    public var traceID: String { Self.digits(trace.high) + Self.digits(trace.low) }
    /// The span that is the parent of whatever the receiver does (`parent-id`), in 16 hexadecimal digits; never all zero.
    public var spanID: String { Self.digits(span) }
    /// The caller may have recorded the trace.
    public var isSampled: Bool

    private let trace: Trace
    private let span: UInt64

    private struct Trace: Hashable {
        var high: UInt64
        var low: UInt64
    }

    /// Makes a new trace.
    public init(isSampled: Bool = true) {
        trace = Trace(high: .random(in: 1 ... .max), low: .random(in: 0 ... .max))
        span = .random(in: 1 ... .max)
        self.isSampled = isSampled
    }

    private init(_ trace: Trace, _ span: UInt64, isSampled: Bool) {
        self.trace = trace
        self.span = span
        self.isSampled = isSampled
    }

    /// Another span of the same trace, as the child of this one.
    public func child() -> TraceContext { TraceContext(trace, .random(in: 1 ... .max), isSampled: isSampled) }

    /// Reads the value of a `traceparent` field; nil where it is none. Of later versions it reads what version 00 has.
    public init?(_ description: String) {
        let text = Array(description.utf8)
        let hyphen = UInt8(ascii: "-")
        guard text.count >= 55, text[2] == hyphen, text[35] == hyphen, text[52] == hyphen else { return nil }
        guard let version = Self.number(text[0..<2]), version != 0xff else { return nil }
        // A later version may have more behind another hyphen.
        guard version == 0 ? text.count == 55 : text.count == 55 || text[55] == hyphen else { return nil }
        guard let high = Self.number(text[3..<19]), let low = Self.number(text[19..<35]), let span = Self.number(text[36..<52]),
            let flags = Self.number(text[53..<55]), high | low != 0, span != 0
        else { return nil }
        self.init(Trace(high: high, low: low), span, isSampled: flags & 1 == 1)
    }

    /// The value of the field: `00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01`.
    public var description: String { "00-\(traceID)-\(spanID)-0\(isSampled ? 1 : 0)" }

    /// Lower-case hexadecimal digits alone; upper case is invalid there.
    private static func number(_ digits: ArraySlice<UInt8>) -> UInt64? {
        var value: UInt64 = 0
        for digit in digits {
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = value << 4 | UInt64(digit - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"): value = value << 4 | UInt64(digit - UInt8(ascii: "a") + 10)
            default: return nil
            }
        }
        return value
    }

    private static func digits(_ value: UInt64) -> String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
