public import FoundationEssentials
import Persistence

extension TokenSource {
    /// A bearer token, and what is known of it.
    ///
    /// ```swift
    /// let grant = try await session.post("token", form: ["refresh": old?.refresh], as: Grant.self).value()
    /// return TokenSource.Token(grant.accessToken, expiresIn: .seconds(grant.expiresIn), refresh: grant.refreshToken)
    /// ```
    ///
    /// Its description shows no secret. Its coding does: it is what a ``Storage`` keeps.
    public struct Token: Sendable, Hashable, Codable {
        /// The token that servers get.
        public let value: String
        /// The time it expires; nil where that is not known, and then it is good until a server refuses it.
        public let expiresAt: Date?
        /// The refresh token, with which the next token is asked for (RFC 6749 section 6). The library sends it nowhere.
        public let refresh: String?
        /// The lifetime as the server gave it: unlike a date it does not depend on the machine's clock.
        let lifetime: Duration?

        private enum CodingKeys: CodingKey {
            case value, expiresAt, refresh
        }

        /// Creates a token with the lifetime that a server gave it, counted from now.
        ///
        /// - Parameters:
        ///   - value: the token as it is sent.
        ///   - expiresIn: `expires_in` of the response (RFC 6749 section 5.1); nil where it is not known. Zero or less is expired.
        ///   - refresh: the refresh token, where there is one.
        public init(_ value: String, expiresIn: Duration? = nil, refresh: String? = nil) {
            self.value = value
            // A date has an end.
            let lifetime = expiresIn.map { min($0, .seconds(100 * 366 * 86_400)) }
            expiresAt = lifetime.map { Date.now.addingTimeInterval($0 / .seconds(1)) }
            self.refresh = refresh
            self.lifetime = lifetime
        }

        /// Creates a token that expires at a time of the machine's clock.
        public init(_ value: String, expiresAt: Date, refresh: String? = nil) {
            self.value = value
            self.expiresAt = expiresAt
            self.refresh = refresh
            lifetime = nil
        }

        /// Reads a token that was stored; its lifetime is that of its date.
        public init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            value = try container.decode(String.self, forKey: .value)
            expiresAt = try container.decodeIfPresent(Date.self, forKey: .expiresAt)
            refresh = try container.decodeIfPresent(String.self, forKey: .refresh)
            lifetime = nil
        }

        /// The lifetime left of a token that has just come; nil where that is not known.
        func left(at now: Date) -> Duration? {
            if let lifetime { return lifetime }
            guard let seconds = expiresAt?.timeIntervalSince(now) else { return nil }
            return .seconds(seconds.isNaN ? 0 : min(max(seconds, 0), 100 * 366 * 86_400))
        }

        /// Compares by bytes, which are what a server looks at.
        public static func == (left: Token, right: Token) -> Bool {
            left.value.hasSameBytes(as: right.value) && left.expiresAt == right.expiresAt
                && left.refresh.map { ExactString($0) } == right.refresh.map { ExactString($0) }
        }

        /// Hashes value and date, as `==` compares them.
        public func hash(into hasher: inout Hasher) {
            hasher.combine(ExactString(value))
            hasher.combine(expiresAt)
        }
    }
}

extension TokenSource.Token: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The expiry, with the token itself masked.
    public var description: String {
        let expiry = expiresAt.map { ", expires \($0.formatted(.iso8601))" } ?? ""
        return "token(\(SecretMask.placeholder)\(expiry)\(refresh == nil ? "" : ", with a refresh token"))"
    }

    /// The same as ``description``.
    public var debugDescription: String { description }

    /// No properties: `dump` and debuggers look in here.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
