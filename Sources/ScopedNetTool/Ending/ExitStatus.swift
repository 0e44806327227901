import ScopedNet

/// What the process ends with (pure): curl's numbers where curl has one for the case, sysexits.h for usage and the system, 128 + the signal.
struct ExitStatus: Hashable, Sendable {
    let code: Int32

    static let success = ExitStatus(code: 0)
    /// `path` and `watch`: there is no way there. `cache show`: nothing is stored for the URL.
    static let unsatisfied = ExitStatus(code: 1)
    /// EX_USAGE.
    static let usage = ExitStatus(code: 64)
    /// EX_DATAERR.
    static let damaged = ExitStatus(code: 65)
    /// EX_NOINPUT: there is no such cache.
    static let noInput = ExitStatus(code: 66)
    /// EX_TEMPFAIL: somebody else has it for the time being.
    static let inUse = ExitStatus(code: 75)
    /// EX_SOFTWARE.
    static let software = ExitStatus(code: 70)
    /// EX_OSERR.
    static let system = ExitStatus(code: 71)
    /// The server answered 400 or above.
    static let httpError = ExitStatus(code: 22)
    static let cannotWrite = ExitStatus(code: 23)
    static let timeout = ExitStatus(code: 28)
    /// Whoever read standard output has gone: 128 + SIGPIPE.
    static let brokenPipe = ExitStatus(code: 141)

    /// As a shell shows the death by this signal.
    static func signal(_ number: Int32) -> ExitStatus { ExitStatus(code: 128 + number) }

    static func of(_ error: NetworkError) -> ExitStatus { ExitStatus(code: codes[error.code] ?? software.code) }

    private static let codes: [NetworkError.Code: Int32] = [
        .unsupportedScheme: 1, .insecureConnection: 1, .accessRefused: 1, .notInCache: 1, .addressRefused: 7, .invalidURL: 3,
        .invalidHeader: 64,
        .invalidOption: 64, .invalidParameters: 64,
        .proxyNotResolved: 5, .nameNotResolved: 6, .connectionRefused: 7, .connectionFailed: 7, .proxyFailed: 97,
        .badResponse: 8, .truncatedBody: 18, .unacceptableStatus: 22,
        .fileUnwritable: 23, .diskFull: 23, .targetInUse: 23, .fileUnreadable: 26, .bodyStreamFailed: 26, .resources: 27,
        .queueTimeout: 28, .connectTimeout: 28, .firstByteTimeout: 28, .idleTimeout: 28, .totalTimeout: 28, .interceptorTimeout: 28,
        .tlsFailed: 35, .tooManyRedirects: 47, .redirectLoop: 47, .redirectRefused: 47, .connectionLost: 56,
        .clientCertificateFailed: 58, .certificateUntrusted: 60, .certificateExpired: 60, .certificateWrongHost: 60, .pinMismatch: 60,
        .contentDecodingFailed: 61, .bodyTooLarge: 63, .headersTooLarge: 63, .decodingBomb: 63, .bodyNotReplayable: 65,
    ]
}
