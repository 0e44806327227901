public import ScopedNet

/// The kinds of failure that a program tells people about.
///
/// ```swift
/// let texts: [FailureKind: String] = [.offline: "You are offline.", .timeout: "That took too long."]
/// model.message = texts[FailureKind(error)] ?? "Something went wrong."
/// ```
///
/// The texts are the program's, in the language of the person who reads them. An error of no other kind is ``other``; there is no kind for "nothing
/// happened".
public enum FailureKind: String, Sendable, Hashable, CaseIterable {
    /// The server wants another token (401 with a token that was sent), and there was none to be had.
    case tokenNeeded
    /// The server wants a login (401).
    case loginNeeded
    /// The program has given the login up (``LoginSource/Cancelled``).
    case loginCancelled
    /// The server may not give it to this person (403).
    case forbidden
    /// There is no such thing (404, 410).
    case notFound
    /// The response was to have content, and had none.
    case noContent
    /// The call was refused before it was sent: parameters, URL, fields, options; or by the server (400, 422).
    case invalidParameters
    /// Some time ran out.
    case timeout
    /// There is no network.
    case offline
    /// There is a network, and no way to the server.
    case unreachable
    /// The call was cancelled.
    case cancelled
    /// The server does less than usual (429, 503).
    case downgraded
    /// Anything else.
    case other

    /// The kind of an error of the library.
    public init(_ error: NetworkError) {
        self =
            if error.underlying is LoginSource.Cancelled { .loginCancelled } else if error.isCancelled {
                .cancelled
            } else if error.isTimeout { .timeout } else if error.isOffline { .offline } else if error.isServerUnreachable {
                .unreachable
            } else if let kind = Self(code: error.code) { kind } else if let kind = error.response.flatMap({ Self(status: $0.status) }) {
                kind
            } else if error.underlying is NetworkError.EmptyBody { .noContent } else { .other }
    }

    private init?(code: NetworkError.Code) {
        switch code {
        case .invalidURL, .unsupportedScheme, .invalidHeader, .invalidOption, .invalidParameters: self = .invalidParameters
        case .authenticationFailed: self = .tokenNeeded
        default: return nil
        }
    }

    private init?(status: Int) {
        switch status {
        case 400, 422: self = .invalidParameters
        case 401: self = .loginNeeded
        case 403: self = .forbidden
        case 404, 410: self = .notFound
        case 429, 503: self = .downgraded
        default: return nil
        }
    }
}
