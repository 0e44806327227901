public import FoundationEssentials

extension Parameters {
    /// The form of dates in parameters.
    public struct Dates: Sendable {
        let encode: @Sendable (Date) throws -> ParameterValue

        /// A date is an error, for servers whose form is not known.
        public static let refused = Parameters.Dates { date in
            throw EncodingError.invalidValue(
                date, EncodingError.Context(codingPath: [], debugDescription: "say how dates are to be written"))
        }

        /// `2026-11-21T18:00:00Z` (RFC 3339), in UTC and whole seconds. The default.
        public static let iso8601 = Parameters.Dates { .string($0.formatted(.iso8601)) }
        /// Seconds since 1970, with a fraction where there is one.
        public static let secondsSince1970 = Parameters.Dates { .double($0.timeIntervalSince1970) }
        /// Whole milliseconds since 1970, rounded.
        public static let millisecondsSince1970 = Parameters.Dates { date in
            let milliseconds = (date.timeIntervalSince1970 * 1_000).rounded()
            return Int64(exactly: milliseconds).map { .integer($0) } ?? .double(milliseconds)
        }

        /// A form of your own. What it throws ends the encoding.
        public static func custom(_ encode: @escaping @Sendable (Date) throws -> ParameterValue) -> Parameters.Dates {
            Parameters.Dates(encode: encode)
        }
    }
}
