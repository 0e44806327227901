public import FoundationEssentials
import SystemSupport

extension NetworkError {
    /// The sentences that a person reads, by code: a table to be translated or replaced.
    ///
    /// ```swift
    /// NetworkError.wording.descriptions[.nameNotResolved] = "Der Server wurde nicht gefunden."
    /// ```
    public struct Wording: Sendable {
        /// One sentence for each code: what happened.
        public var descriptions: [Code: String]
        /// One sentence for each code: what the person can do. Codes without one have no suggestion.
        public var suggestions: [Code: String]
        /// The sentence for a status that is not accepted. Called wherever a description is asked for.
        public var status: @Sendable (Int) -> String
        /// The sentence about what a person can do about a status; nil for nothing.
        public var statusSuggestion: @Sendable (Int) -> String?
        /// Introduces the server's own words.
        public var serverSays: @Sendable (String) -> String
        /// For codes that are not in the table.
        public var other: String

        /// The sentences in English.
        public static let english = Wording(
            descriptions: EnglishWording.descriptions, suggestions: EnglishWording.suggestions, status: EnglishWording.status,
            statusSuggestion: EnglishWording.suggestion, serverSays: { "The server says: \($0)" }, other: "The request did not succeed.")

        /// Returns the sentence for a code, followed by the server's own words where there are any.
        func description(of code: Code, status: Int?, serverMessage: String?) -> String {
            let sentence = if code == .unacceptableStatus, let status { self.status(status) } else { descriptions[code] ?? other }
            return serverMessage.map { "\(sentence) \(serverSays($0))" } ?? sentence
        }

        /// Returns the sentence about what a person can do; nil where there is none.
        func suggestion(for code: Code, status: Int?) -> String? {
            if code == .unacceptableStatus, let status { return statusSuggestion(status) }
            return suggestions[code]
        }
    }

    private static let currentWording = Lock(Wording.english)

    /// The sentences of ``errorDescription`` and ``recoverySuggestion``, for the whole process. Any thread. Default: English.
    public static var wording: Wording {
        get { currentWording.withLock { $0 } }
        set { currentWording.withLock { $0 = newValue } }
    }
}

extension NetworkError: LocalizedError {
    /// One or two sentences for a person, with the server's own words where there are any; `localizedDescription` is the same. For logs there
    /// is ``description``.
    public var errorDescription: String? { Self.wording.description(of: code, status: status, serverMessage: serverMessage) }

    /// One sentence: what the person can do. Nil where there is nothing to add.
    public var recoverySuggestion: String? { Self.wording.suggestion(for: code, status: status) }
}

/// The English sentences for people.
private enum EnglishWording {
    static func status(_ status: Int) -> String {
        switch status {
        case 401: "You are not signed in, or your sign-in has expired."
        case 403: "You do not have permission for this."
        case 404, 410: "This does not exist on the server."
        case 408, 504: "The server took too long to answer."
        case 409, 412: "Someone else has changed this in the meantime."
        case 413: "This is too large for the server."
        case 429: "The server gets too many requests from you."
        case 500...599: "The server has a problem (\(status))."
        default: "The server did not accept the request (\(status))."
        }
    }

    static func suggestion(_ status: Int) -> String? {
        switch status {
        case 401: "Sign in again."
        case 403: "Sign in with an account that has permission, or ask for it."
        case 404, 410: "Check the path of the address."
        case 407: "Check the name and the password for the proxy."
        case 408, 429, 500...599: "Try again in a little while."
        case 409, 412: "Reload it and try again."
        case 413: "Send less at once."
        case 415: "Send it in another format."
        default: nil
        }
    }

    static let descriptions: [NetworkError.Code: String] = [
        .invalidURL: "The address is not a valid URL.",
        .unsupportedScheme: "Only http and https addresses can be opened.",
        .fileUnreadable: "The file could not be read.",
        .fileUnwritable: "The file could not be saved.",
        .diskFull: "The disk is full.",
        .targetInUse: "This file is already being downloaded.",
        .insecureConnection: "The address is not secure (https).",
        .accessRefused: "This address may not be opened.",
        .addressRefused: "This address may not be opened.",
        .nameNotResolved: "The server was not found.",
        .proxyNotResolved: "The proxy server was not found.",
        .connectionRefused: "The server does not accept connections.",
        .connectionFailed: "The server could not be reached.",
        .connectionLost: "The connection was lost.",
        .proxyFailed: "The proxy server did not let the request through.",
        .tlsFailed: "A secure connection could not be made.",
        .certificateUntrusted: "The server's certificate is not trusted.",
        .certificateExpired: "The server's certificate has expired.",
        .certificateWrongHost: "The server's certificate belongs to another server.",
        .clientCertificateFailed: "The client certificate was not accepted.",
        .pinMismatch: "The server is not the one that is expected.",
        .connectivityTimeout: "There is no network connection.",
        .queueTimeout: "The request waited too long.",
        .queueFull: "Too many requests are waiting.",
        .connectTimeout: "The server could not be reached.",
        .firstByteTimeout: "The server did not answer in time.",
        .idleTimeout: "The server stopped answering.",
        .totalTimeout: "The request took too long.",
        .notInCache: "This is not available offline.",
        .badResponse: "The server's answer was not understood.",
        .truncatedBody: "The server's answer was incomplete.",
        .headersTooLarge: "The server's answer is too large.",
        .bodyTooLarge: "The server's answer is too large.",
        .decodingBomb: "The server's answer is too large.",
        .contentDecodingFailed: "The server's answer is damaged.",
        .tooManyRedirects: "The address leads in circles.",
        .redirectLoop: "The address leads in circles.",
        .redirectRefused: "The address leads to one that may not be opened.",
        .unacceptableContentType: "The server sent something else than what is expected.",
        .unacceptableResponse: "The server's answer is not usable.",
        .decodingFailed: "The server sent something else than what is expected.",
        .authenticationFailed: "Signing in did not work.",
        .interceptorTimeout: "Preparing the request took too long.",
        .duplicateRequest: "This is being done already.",
        .cancelled: "Cancelled.",
        .shutdown: "The app is closing its connections.",
        .resources: "This device has run out of resources for another request.",
    ]

    static let suggestions: [NetworkError.Code: String] = [
        .invalidURL: "Check the address.",
        .unsupportedScheme: "Use an address that begins with http:// or https://.",
        .fileUnreadable: "Check that the file is there and may be read.",
        .fileUnwritable: "Check that the folder is there and may be written to.",
        .diskFull: "Make space on the disk and try again.",
        .targetInUse: "Wait until it is complete, or choose another file.",
        .insecureConnection: "Use an address that begins with https://.",
        .accessRefused: "Check the address.",
        .addressRefused: "Check the address.",
        .nameNotResolved: "Check the spelling of the address and the network connection.",
        .proxyNotResolved: "Check the proxy settings.",
        .proxyFailed: "Check the proxy settings.",
        .connectionRefused: "Check the port, and that the server is running.",
        .connectionFailed: "Check the network connection and try again.",
        .connectionLost: "Try again.",
        .tlsFailed: "Check the address and its port.",
        .certificateUntrusted: "Check whether the network asks for a sign-in of its own; else tell whoever runs the server.",
        .certificateExpired: "Check the clock of this device.",
        .certificateWrongHost: "Use the name that the certificate was made for.",
        .clientCertificateFailed: "Check the client certificate and its key.",
        .pinMismatch: "Try another network.",
        .connectivityTimeout: "Check the network connection.",
        .queueTimeout: "Try again in a little while.",
        .queueFull: "Try again in a little while.",
        .connectTimeout: "Check the network connection and try again.",
        .firstByteTimeout: "Try again in a little while.",
        .idleTimeout: "Try again.",
        .totalTimeout: "Try again.",
        .notInCache: "Try again with a network connection.",
        .badResponse: "Check the address and its port.",
        .truncatedBody: "Try again.",
        .bodyTooLarge: "Download it to a file.",
        .tooManyRedirects: "Check the address, or sign in again.",
        .redirectLoop: "Check the address, or sign in again.",
        .redirectRefused: "Open the other address itself, if you trust it.",
        .unacceptableContentType: "Check the address, or look for an update of the app.",
        .decodingFailed: "Check the address, or look for an update of the app.",
        .authenticationFailed: "Sign in again.",
        .resources: "Close other programs and try again.",
    ]
}
