/// The growth of one coded stream, judged against ``DecodingLimits`` as it is decoded (pure).
///
/// The ratio is judged over the whole stream and over its latest part. Without the second, megabytes
/// of honest content would buy a bomb at the end of the body: 6 MiB of it allow 3 GiB of zeros.
struct ExpansionMeter {
    private struct Mark {
        var input: Int
        var output: Int
    }

    let limits: DecodingLimits
    /// Coded bytes taken so far.
    private(set) var input = 0
    /// Decoded bytes produced so far.
    private(set) var output = 0
    /// The counts at earlier points, the oldest first; the first one is where the latest part begins.
    private var marks = [Mark(input: 0, output: 0)]

    /// The length of the latest part, in decoded bytes.
    private var span: Int { max(limits.ratioAppliesAfterBytes, Self.smallestSpan) }
    private static let smallestSpan = 16 << 20
    private static let marksPerSpan = 8

    init(limits: DecodingLimits) { self.limits = limits }

    mutating func take(_ count: Int) { input += count }

    /// Adds produced bytes.
    ///
    /// - Returns: the limit that has been passed, if any.
    mutating func produce(_ count: Int) -> ContentDecodingError.Limit? {
        output += count
        if let limit = limits.exceeded(output: output, input: input) { return limit }
        guard let maxRatio = limits.maxRatio else { return nil }
        while marks.count > 1, output - marks[1].output > span { marks.removeFirst() }
        let (grown, fed) = (output - marks[0].output, input - marks[0].input)
        if grown > span, (grown - 1) / max(maxRatio, 1) >= fed { return .ratio(maxRatio) }
        if output - marks[marks.count - 1].output >= span / Self.marksPerSpan { marks.append(Mark(input: input, output: output)) }
        return nil
    }
}
