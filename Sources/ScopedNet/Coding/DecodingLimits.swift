/// How far a coded body may grow while it is decoded.
///
/// A few kilobytes of `gzip` can become gigabytes. Two limits stop that, and either one alone is enough:
///
/// - ``maxOutputBytes`` is absolute. A caller that collects a body in memory passes its own body limit here.
/// - ``maxRatio`` compares what came out with what came in. Deflate cannot exceed 1,032 : 1, and small honest bodies (a page of
///   zeros) come close to it, so the ratio counts only once ``ratioAppliesAfterBytes`` have come out. Text, JSON and logs stay
///   below 100 : 1; what is above 500 : 1 beyond 16 MiB is a run of one byte, in practice a bomb.
///   The ratio is judged over the whole body and over its latest part (``ratioAppliesAfterBytes`` decoded bytes, and 16 MiB at least), so
///   that honest megabytes at the start do not pay for a bomb behind them.
///
/// In a chain such as `gzip, br` the limits hold for what each link produces, so that a link which swallows what the one
/// before it produced cannot hide it.
public struct DecodingLimits: Sendable, Hashable {
    /// The most bytes a decoder may produce, or nil for no absolute limit. The default is nil.
    public var maxOutputBytes: Int?

    /// The most bytes out for each byte in, or nil for no such limit. The default is 500.
    public var maxRatio: Int?

    /// The number of decoded bytes below which ``maxRatio`` is not looked at. The default is 16 MiB.
    public var ratioAppliesAfterBytes: Int

    /// Makes limits; the defaults are those of ``default``.
    public init(maxOutputBytes: Int? = nil, maxRatio: Int? = 500, ratioAppliesAfterBytes: Int = 16 << 20) {
        self.maxOutputBytes = maxOutputBytes
        self.maxRatio = maxRatio
        self.ratioAppliesAfterBytes = ratioAppliesAfterBytes
    }

    /// No absolute limit, and 500 : 1 beyond 16 MiB.
    public static let `default` = DecodingLimits()

    /// No limit at all, for a server that is trusted as much as the program itself.
    public static let unlimited = DecodingLimits(maxRatio: nil)

    /// The limit that `output` bytes made of `input` bytes have passed, if any.
    package func exceeded(output: Int, input: Int) -> ContentDecodingError.Limit? {
        if let maxOutputBytes, output > maxOutputBytes { return .outputBytes(maxOutputBytes) }
        if let maxRatio, output > ratioAppliesAfterBytes, (output - 1) / max(maxRatio, 1) >= input { return .ratio(maxRatio) }
        return nil
    }
}
