extension RetryPolicy {
    /// A kind of transport failure that may deserve another attempt. Statuses are ``RetryPolicy/statusCodes``.
    public struct Trigger: OptionSet, Sendable, Hashable {
        /// The bits of the set.
        public let rawValue: UInt16

        /// Makes a set of its bits.
        public init(rawValue: UInt16) {
            self.rawValue = rawValue
        }

        /// The host name could not be resolved.
        public static let nameResolution = RetryPolicy.Trigger(rawValue: 1 << 0)
        /// No connection: refused, unreachable, or not established in time.
        public static let connect = RetryPolicy.Trigger(rawValue: 1 << 1)
        /// The TLS handshake broke off. (A certificate that is not trusted is no reason to try again.)
        public static let tlsHandshake = RetryPolicy.Trigger(rawValue: 1 << 2)
        /// The connection was reset or closed before the response was complete.
        public static let connectionLost = RetryPolicy.Trigger(rawValue: 1 << 3)
        /// The server refused the stream without processing it (HTTP/2 `REFUSED_STREAM`, or beyond the last id of `GOAWAY`).
        public static let refusedStream = RetryPolicy.Trigger(rawValue: 1 << 4)
        /// The response did not begin, or did not go on, in time.
        public static let timeout = RetryPolicy.Trigger(rawValue: 1 << 5)

        /// All kinds.
        public static let all: RetryPolicy.Trigger = [.nameResolution, .connect, .tlsHandshake, .connectionLost, .refusedStream, .timeout]
    }
}

extension RetryPolicy.Trigger: CustomStringConvertible {
    private static let names: [(RetryPolicy.Trigger, String)] = [
        (.nameResolution, "name resolution"), (.connect, "no connection"), (.tlsHandshake, "TLS handshake"),
        (.connectionLost, "connection lost"), (.refusedStream, "refused stream"), (.timeout, "timeout"),
    ]

    /// The kinds in words, for logs.
    public var description: String {
        let names = Self.names.filter { contains($0.0) }.map(\.1)
        return names.isEmpty ? "other" : names.joined(separator: ", ")
    }
}
