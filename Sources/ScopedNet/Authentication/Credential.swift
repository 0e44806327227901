import Persistence

/// What proves to a server, or to a proxy, who is asking.
///
/// Its description shows neither password nor token.
public struct Credential: Sendable, Hashable {
    package enum Kind: Sendable, Hashable {
        case basic(user: String, password: String)
        case bearer(String)

        // By bytes, which are what a server looks at: a password in another spelling may be the right one.
        package static func == (left: Kind, right: Kind) -> Bool {
            switch (left, right) {
            case (.basic(let user, let password), .basic(let otherUser, let otherPassword)):
                user.hasSameBytes(as: otherUser) && password.hasSameBytes(as: otherPassword)
            case (.bearer(let token), .bearer(let other)): token.hasSameBytes(as: other)
            case (.basic, .bearer), (.bearer, .basic): false
            }
        }

        package func hash(into hasher: inout Hasher) {
            switch self {
            case .basic(let user, let password):
                hasher.combine(ExactString(user))
                hasher.combine(ExactString(password))
            case .bearer(let token): hasher.combine(ExactString(token))
            }
        }
    }

    package let kind: Kind

    /// A name and a password. They answer challenges of the schemes Digest (RFC 7616: SHA-256, SHA-512-256 and MD5) and Basic (RFC 7617); where a
    /// server offers both, Digest, which sends no password.
    ///
    /// A colon in the name, or a control character in either, cannot be sent by Basic: the request fails with `invalidHeader`.
    public static func basic(user: String, password: String) -> Credential { Credential(kind: .basic(user: user, password: password)) }

    /// A token, sent as it is (RFC 6750). An empty one or one with a control character fails the request with `invalidHeader`.
    ///
    /// Whoever has it can use it: send it over `https` alone.
    public static func bearer(_ token: String) -> Credential { Credential(kind: .bearer(token)) }
}

extension Credential: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The scheme and the name; `***` stands for a password or token.
    public var description: String {
        switch kind {
        case .basic(let user, _): "basic(user: \(user.printable), password: \(SecretMask.placeholder))"
        case .bearer: "bearer(\(SecretMask.placeholder))"
        }
    }

    /// The same as ``description``: no secret is shown.
    public var debugDescription: String { description }

    /// `dump` and debuggers look in here.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
