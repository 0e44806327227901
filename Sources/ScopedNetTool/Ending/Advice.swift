import ScopedNet

/// What to do about an error (pure): the half of a message that helps.
enum Advice {
    /// Nil where there is nothing to add.
    static func about(_ error: NetworkError, _ proof: Proof = .nothing) -> String? {
        switch error.code {
        case .unacceptableStatus: error.response.flatMap { about($0, proof) }
        case .truncatedBody where error.message.contains("close_notify"):
            "try again; for a server that never sends one there is --allow-missing-close-notify"
        case .fileUnreadable where error.phase < .resolving: clause(error.recoverySuggestion)
        case .unacceptableContentType, .decodingFailed: nil
        default: texts[error.code] ?? clause(error.recoverySuggestion)
        }
    }

    /// The library's sentence in the form of the tool's own, which name its options.
    private static func clause(_ sentence: String?) -> String? {
        guard let sentence, let first = sentence.first else { return nil }
        let text = first.lowercased() + sentence.dropFirst()
        return text.hasSuffix(".") ? String(text.dropLast()) : text
    }

    /// After a status from 400 on.
    static func about(_ head: ResponseHead, _ proof: Proof) -> String? {
        head.status == 401 ? about(refusal: head, of: proof) : about(status: head.status)
    }

    static func about(status: Int) -> String? {
        switch status {
        case 401:
            "give credentials, as in -u USER:PASSWORD (with --anyauth for Digest), --bearer TOKEN or --netrc: they make the Authorization "
                + "field"
        case 405: "try another --method"
        case 407: "put the credentials into the proxy's URL (https_proxy=http://USER:PASSWORD@HOST:PORT)"
        case 415: "name the type of the body, as in -H 'Content-Type: application/json'"
        // Nothing is loaded that could be loaded again.
        case 409, 412: nil
        default: clause(NetworkError.wording.statusSuggestion(status))
        }
    }

    /// `download` replaces a file; what is there is none, such as `/dev/null` or a FIFO.
    static let noFile = "'scopednet get URL > PLACE' writes into a device or a pipe"

    /// Those that name an option, another command or the environment; all else is said by the library.
    static let texts: [NetworkError.Code: String] = [
        .invalidURL: "write the whole URL, as in https://example.org/path, in quotes if it holds & or ?",
        .insecureConnection: "--https-only allows https:// URLs only; leave it out if what you ask for is no secret",
        .addressRefused:
            "--public-only refuses addresses that are not of the public internet, and proxies; leave it out if you trust the URL",
        .invalidHeader: "write header fields as -H 'Name: value', on one line",
        .invalidOption: "see --help",
        .nameNotResolved: "check the spelling; 'scopednet path HOST' says whether there is a network at all",
        .proxyNotResolved: "check http_proxy, https_proxy and all_proxy in the environment",
        .proxyFailed: "check http_proxy, https_proxy and all_proxy in the environment",
        .connectionFailed: "'scopednet path HOST' says what is wrong with the way there",
        .connectTimeout: "the host is silent: check the address, or allow more with --connect-timeout SECONDS",
        .totalTimeout: "allow more with --timeout SECONDS",
        .tlsFailed: "check that the port speaks TLS; -v shows how far it came",
        .certificateUntrusted: "if you trust the authority that signed it, give its certificate with --cacert FILE",
        .certificateExpired: "check this machine's clock; otherwise the server needs a new certificate",
        .fileUnreadable: "check that the file of --cacert is there and in PEM format",
        .authenticationFailed: "check the credentials given; -v shows what the server asked for",
        .badResponse: "check that the port speaks HTTP",
        .tooManyRedirects: "allow more with --max-redirects COUNT, or see with -v where they lead",
        .redirectLoop: "see with -v where the redirects lead",
        .redirectRefused: "fetch the target itself if you trust it; -v shows it",
        .bodyTooLarge: "use 'scopednet download', which has no limit",
        .resources: "this process may not open as many files or threads as it needs: see ulimit -a",
    ]
}
