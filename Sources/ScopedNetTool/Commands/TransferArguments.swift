#if CommandLineTool
import ArgumentParser
import FoundationEssentials
import HTTPTypes
import ScopedNet

/// What `get` and `download` have in common.
struct TransferArguments: ParsableArguments, Sendable {
    @Argument(help: "What to fetch, with http:// or https://.")
    var url: String

    @Option(
        name: [.customShort("H"), .customLong("header")],
        help: ArgumentHelp("A header field to send, as in 'Accept: text/html'. May be repeated.", valueName: "name: value"))
    var headers: [String] = []

    @Option(help: ArgumentHelp("The most seconds that all of it may take. No limit by default.", valueName: "seconds"))
    var timeout: Double?

    @Option(help: ArgumentHelp("The most seconds until a connection is made.", valueName: "seconds"))
    var connectTimeout = 10.0

    @Option(help: ArgumentHelp("Redirects to follow; 0 follows none.", valueName: "count"))
    var maxRedirects = 20

    @Option(help: ArgumentHelp("Trust the authorities in this PEM file, not the system's.", valueName: "file"))
    var cacert: String?

    @Flag(name: .shortAndLong, help: "Show on standard error what happens. Secrets are masked.")
    var verbose = false

    @Flag(name: .shortAndLong, help: "No progress bar.")
    var quiet = false

    @Flag(help: "Print one JSON object about response or error.")
    var json = false

    func validate() throws {
        for (name, seconds) in [("--timeout", timeout), ("--connect-timeout", connectTimeout)] {
            guard let seconds else { continue }
            guard seconds > 0, seconds <= 1e9 else { throw ValidationError("\(name) takes a number of seconds above 0, such as 2.5.") }
        }
        guard maxRedirects >= 0 else { throw ValidationError("--max-redirects takes a count of 0 or more.") }
        for header in headers {
            do throws(NetworkError) { _ = try HeaderArgument(header) } catch {
                throw ValidationError("\(error.message)\(Advice.about(error).map { "; \($0)" } ?? "").")
            }
        }
    }

    /// The URL as it may be shown: without credentials.
    var shownURL: String { SecretMask().maskedURL(url) }

    /// A session of its own, with what the arguments say.
    func session(_ console: Console, accepting validation: StatusValidation) throws(ToolFailure) -> Session {
        var configuration = Session.Configuration(agent: RequestAgent())
        configuration.options.timeouts.total = timeout.map { .seconds($0) }
        configuration.options.timeouts.connect = .seconds(connectTimeout)
        configuration.options.redirects.maxRedirects = maxRedirects
        if maxRedirects == 0 { configuration.options.redirects.mode = .never }
        configuration.options.validation = validation
        if let cacert { configuration.tls.certificateAuthority = .file(cacert) }
        do throws(NetworkError) {
            for header in headers { configuration.headers.append(try HeaderArgument(header).field) }
        } catch {
            throw ToolFailure(error, about: "--header")
        }
        if verbose { configuration.observers.append(VerboseObserver(console)) }
        if console.isLive { configuration.observers.append(ProgressObserver(console)) }
        return Session(configuration: configuration)
    }

    /// Runs `body` with a session that is gone when this returns, and so is all it left on disk.
    func withSession<Result: Sendable>(
        accepting validation: StatusValidation, _ body: (Session, Console) async throws(ToolFailure) -> Result
    ) async throws(ToolFailure) -> Result {
        let console = Console(isQuiet: quiet)
        let session = try session(console, accepting: validation)
        let result: Swift.Result<Result, ToolFailure>
        do throws(ToolFailure) { result = .success(try await body(session, console)) } catch { result = .failure(error) }
        // What has succeeded may say its last words.
        if case .success = result { await session.shutdown(cancelling: false) } else { await session.shutdown() }
        console.show("")
        return try result.get()
    }

    /// The failure of a request; with `--json` also as an object on standard output.
    func failure(_ error: NetworkError, _ console: Console) throws(ToolFailure) -> ToolFailure {
        console.show("")
        if json { try console.print(line: JSONText.line(ResponseReport(url: shownURL, error: error))) }
        return ToolFailure(error, about: shownURL)
    }
}
#endif
