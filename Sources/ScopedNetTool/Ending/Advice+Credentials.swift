import HTTPTypes
import ScopedNet

/// What to do about a 401: nobody who has given credentials is told to give some.
extension Advice {
    /// How a request says who is asking.
    enum Proof: Sendable {
        case nothing
        /// `--user`, or user and password in the URL: Basic with the first request.
        case basic
        /// `--user` with `--anyauth`: what the server asks for, when it asks.
        case whenAsked
        /// `--bearer`.
        case token
        case netrc
        /// An `Authorization` of the caller's own.
        case field
    }

    static func about(refusal head: ResponseHead, of proof: Proof) -> String? {
        let asked = head.headers[values: .wwwAuthenticate].flatMap { AuthenticationChallenge.parse($0) }.map(\.scheme)
        if proof == .basic, asked.contains("digest") {
            return "the server refused Basic credentials and asks for Digest: give them as --anyauth -u USER:PASSWORD"
        }
        if let given = schemes(by: proof), !asked.isEmpty, given.isDisjoint(with: asked) {
            // Of a list without end the first ones will do.
            return "the server asks for another scheme than what was given: \(asked.prefix(3).joined(separator: ", "))"
        }
        switch proof {
        case .nothing: return about(status: 401)
        case .basic, .whenAsked: return "the server refused the user and password given: check them\(elsewhere)"
        case .token: return "the server refused the token given: it may have expired, or be for something else\(elsewhere)"
        case .netrc: return "the server refused what the netrc file has for it, or the file has nothing for it: check its entry"
        case .field: return "the server refused the Authorization field given: check it\(elsewhere)"
        }
    }

    private static let elsewhere = " (-v shows whether a redirect led to another origin, where credentials do not go)"

    /// The schemes that were sent, or could have been, in lower case; nil where nobody knows.
    private static func schemes(by proof: Proof) -> Set<String>? {
        switch proof {
        case .basic: ["basic"]
        case .whenAsked: ["basic", "digest"]
        case .token: ["bearer"]
        case .nothing, .netrc, .field: nil
        }
    }
}
