extension ResponseCache {
    /// How the cache dealt with a request, as RFC 9211 has it. ``description`` is the text of a `Cache-Status` field.
    ///
    /// ```swift
    /// print(status)  // ScopedNet; fwd=stale; fwd-status=304; stored
    /// ```
    public struct Status: Sendable, Hashable {
        /// Why a request went to the server (section 2.2).
        public struct ForwardReason: Sendable, Hashable, CustomStringConvertible {
            /// As in the field.
            public let description: String

            /// The cache was told to stay out of it.
            public static let bypass = ForwardReason(description: "bypass")
            /// The method is not one the cache answers.
            public static let method = ForwardReason(description: "method")
            /// Nothing is stored for the URL.
            public static let uriMiss = ForwardReason(description: "uri-miss")
            /// Something is stored for the URL, but for other values of the fields in `Vary`.
            public static let varyMiss = ForwardReason(description: "vary-miss")
            /// The cache has no response to give.
            public static let miss = ForwardReason(description: "miss")
            /// The request did not allow what is stored to be used.
            public static let request = ForwardReason(description: "request")
            /// What is stored was stale.
            public static let stale = ForwardReason(description: "stale")
            /// Only a part is stored.
            public static let partial = ForwardReason(description: "partial")
        }

        /// A stored response was the answer, and the server was not asked first.
        public var isHit: Bool
        /// Why the server was asked, or nil when it was not.
        public var forward: ForwardReason?
        /// What the server answered, if it did.
        public var forwardStatus: Int?
        /// What is left of the stored response's lifetime in seconds, rounded down; below zero when it is stale.
        public var timeToLive: Int?
        /// The server's response was stored, or has refreshed a stored one.
        public var isStored: Bool
        /// The request waited for another one for the same response.
        public var isCollapsed: Bool
        /// The key of the stored response.
        public var key: String?
        /// Anything else, for people.
        public var detail: String?

        /// Makes a status of its parts, for tests and for programs that pass the field on. By default the request was not answered by the
        /// cache.
        public init(
            isHit: Bool = false, forward: ForwardReason? = nil, forwardStatus: Int? = nil, timeToLive: Int? = nil, isStored: Bool = false,
            isCollapsed: Bool = false, key: String? = nil, detail: String? = nil
        ) {
            self.isHit = isHit
            self.forward = forward
            self.forwardStatus = forwardStatus
            self.timeToLive = timeToLive
            self.isStored = isStored
            self.isCollapsed = isCollapsed
            self.key = key
            self.detail = detail
        }

        /// A hit with so much lifetime left.
        static func hit(_ freshness: Freshness, detail: String? = nil) -> ResponseCache.Status {
            ResponseCache.Status(isHit: true, timeToLive: freshness.wholeSecondsLeft, detail: detail)
        }
    }
}

extension ResponseCache.Status: CustomStringConvertible {
    /// One member of the field `Cache-Status` (section 2), in the order of the RFC.
    public var description: String {
        var text = "ScopedNet"
        if isHit { text += "; hit" }
        if let forward { text += "; fwd=\(forward)" }
        if let forwardStatus { text += "; fwd-status=\(forwardStatus)" }
        if let timeToLive { text += "; ttl=\(timeToLive)" }
        if isStored { text += "; stored" }
        if isCollapsed { text += "; collapsed" }
        if let key { text += "; key=\(Self.quoted(key))" }
        if let detail { text += "; detail=\(Self.quoted(detail))" }
        return text
    }

    /// A string of structured fields holds printable ASCII only (RFC 9651 section 3.3.3): other bytes are percent-encoded.
    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): quoted += "\\" + String(Unicode.Scalar(byte))
            case 0x20...0x7E: quoted += String(Unicode.Scalar(byte))
            default: quoted += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
        return quoted + "\""
    }
}

extension Freshness {
    var wholeSecondsLeft: Int { Int(min(max(remaining, -DeltaSeconds.largest), DeltaSeconds.largest).rounded(.down)) }
}
