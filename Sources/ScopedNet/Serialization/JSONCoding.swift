public import FoundationEssentials

/// The coding of JSON: the names of members, and dates.
///
/// ```swift
/// configuration.json = JSONCoding(keys: .snakeCase, dates: .iso8601)
/// ```
///
/// A session's (``Session/Configuration/json``) is used wherever a call names no decoder or encoder of its own: for values, stored ones too,
/// for bodies made by ``RequestBody/json(_:encoder:)``, and for ``NetworkError/decoded(as:decoder:)``.
public struct JSONCoding: Sendable {
    /// The relation of property names to the names in a document.
    public enum Keys: Sendable, Hashable {
        /// The names of the coding keys.
        case asDeclared
        /// `createdAt` is `created_at`. The keys of dictionaries stay as they are.
        case snakeCase
    }

    /// Makes the decoder of one document.
    public let decoder: @Sendable () -> JSONDecoder
    /// Makes the encoder of one document.
    public let encoder: @Sendable () -> JSONEncoder
    /// True for ``standard`` alone: decoders need no second look then.
    let isStandard: Bool

    /// The coding without settings; members are written in ascending order, so that equal values are equal bytes.
    public static let standard = JSONCoding(keys: .asDeclared, dates: .deferred, isStandard: true)

    /// Creates a coding of the usual settings. Members are written in ascending order.
    public init(keys: Keys = .asDeclared, dates: Dates = .deferred) { self.init(keys: keys, dates: dates, isStandard: false) }

    /// Creates a coding of decoders and encoders with settings of your own.
    ///
    /// - Parameters:
    ///   - decoder: called for each document; the decoder is used once.
    ///   - encoder: called for each document. Give it `.sortedKeys` where equal values should be equal bytes.
    public init(decoder: @escaping @Sendable () -> JSONDecoder, encoder: @escaping @Sendable () -> JSONEncoder) {
        self.decoder = decoder
        self.encoder = encoder
        isStandard = false
    }

    private init(keys: Keys, dates: Dates, isStandard: Bool) {
        decoder = {
            let decoder = JSONDecoder()
            if keys == .snakeCase { decoder.keyDecodingStrategy = .convertFromSnakeCase }
            dates.setUpDecoder(decoder)
            return decoder
        }
        encoder = {
            let encoder = JSONEncoder()
            encoder.outputFormatting = .sortedKeys
            if keys == .snakeCase { encoder.keyEncodingStrategy = .convertToSnakeCase }
            dates.setUpEncoder(encoder)
            return encoder
        }
        self.isStandard = isStandard
    }
}

extension JSONCoding {
    /// The form of dates in JSON.
    public struct Dates: Sendable {
        let setUpDecoder: @Sendable (JSONDecoder) -> Void
        let setUpEncoder: @Sendable (JSONEncoder) -> Void

        /// The form of `Date` itself: seconds since 2001, which few servers expect.
        public static let deferred = Dates(setUpDecoder: { _ in }, setUpEncoder: { _ in })

        /// `2026-11-21T18:00:00Z` (RFC 3339). Written in UTC and whole seconds; read with and without a fraction.
        public static let iso8601 = Dates(
            setUpDecoder: { $0.dateDecodingStrategy = .custom(Dates.readISO8601) },
            setUpEncoder: { $0.dateEncodingStrategy = .iso8601 })

        /// Seconds since 1970, with a fraction where there is one.
        public static let secondsSince1970 = Dates(
            setUpDecoder: { $0.dateDecodingStrategy = .secondsSince1970 }, setUpEncoder: { $0.dateEncodingStrategy = .secondsSince1970 })

        /// Milliseconds since 1970.
        public static let millisecondsSince1970 = Dates(
            setUpDecoder: { $0.dateDecodingStrategy = .millisecondsSince1970 },
            setUpEncoder: { $0.dateEncodingStrategy = .millisecondsSince1970 })

        /// Creates a form of your own.
        ///
        /// - Parameters:
        ///   - decode: reads a date; what it throws fails the decoding.
        ///   - encode: writes a date; what it throws fails the encoding.
        /// - Returns: a form for ``JSONCoding/init(keys:dates:)``.
        public static func custom(
            decode: @escaping @Sendable (any Decoder) throws -> Date, encode: @escaping @Sendable (Date, any Encoder) throws -> Void
        ) -> Dates {
            Dates(
                setUpDecoder: { $0.dateDecodingStrategy = .custom(decode) }, setUpEncoder: { $0.dateEncodingStrategy = .custom(encode) })
        }

        @Sendable private static func readISO8601(_ decoder: any Decoder) throws -> Date {
            let text = try decoder.singleValueContainer().decode(String.self)
            if let date = try? Date.ISO8601FormatStyle().parse(text) { return date }
            if let date = try? Date.ISO8601FormatStyle(includingFractionalSeconds: true).parse(text) { return date }
            throw DecodingError.dataCorrupted(
                DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "a date of RFC 3339 is expected"))
        }
    }
}
