#if CommandLineTool
import ArgumentParser
import FoundationEssentials
import HTTPTypes
import ScopedNet

/// What all commands that transfer something have in common.
struct TransferArguments: ParsableArguments, Sendable {
    @Argument(help: "The URL, with http:// or https://.")
    var url: String

    @Option(
        name: [.customShort("H"), .customLong("header")], parsing: .unconditionalSingleValue,
        help: ArgumentHelp("A header field to send, as in 'Accept: text/html'. May be repeated.", valueName: "name: value"))
    var headers: [String] = []

    @OptionGroup var credentials: CredentialArguments

    // Numbers take what comes next, dash or not: what is wrong with -5 is better said than that a value is missing.
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("The most seconds that all of it may take. No limit by default.", valueName: "seconds"))
    var timeout: Double?

    @Option(parsing: .unconditional, help: ArgumentHelp("The most seconds until a connection is made.", valueName: "seconds"))
    var connectTimeout = 10.0

    @Option(parsing: .unconditional, help: ArgumentHelp("Redirects to follow; 0 follows none.", valueName: "count"))
    var maxRedirects = 20

    @Flag(help: "Follow no redirects; as --max-redirects 0.")
    var noFollow = false

    // Redirects are followed and codings offered anyway; fingers that know curl write it all the same.
    @Flag(name: [.customShort("L"), .customLong("location")], help: .hidden)
    var location = false

    @Flag(help: .hidden)
    var compressed = false

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Try again so often after failures that may pass, with pauses between.", valueName: "count"))
    var retry = 0

    @Option(parsing: .unconditional, help: ArgumentHelp("The most bytes a second, both ways, such as 200k or 1.5M.", valueName: "rate"))
    var limitRate: String?

    @Flag(help: "Ask nothing over http, not even where a redirect leads there.")
    var httpsOnly = false

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Ask hosts over https that this file says want it, and note there who does; made where it is not there.", valueName: "file"))
    var hsts: String?

    @Flag(help: "Connect to addresses of the public internet only.")
    var publicOnly = false

    @Option(
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "Connect to these addresses instead of looking the host up; * is every host. May be repeated.",
            valueName: "host:port:address[,address]"))
    var resolve: [String] = []

    @Option(
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "Connect to the second host and port where the URL has the first; an empty one matches, or keeps, any. May be repeated.",
            valueName: "host:port:host:port"))
    var connectTo: [String] = []

    @Option(parsing: .unconditional, help: ArgumentHelp("Trust the authorities in this PEM file, not the system's.", valueName: "file"))
    var cacert: String?

    @Flag(name: [.customShort("k"), .long], help: "Trust any certificate. Anybody on the way can read and change everything.")
    var insecure = false

    @Flag(help: "Take the common name of a certificate without subjectAltName for the host, from old devices.")
    var allowCommonName = false

    @Flag(help: "Take the end of a connection for the end of a body, from servers that close without saying so (TLS close_notify).")
    var allowMissingCloseNotify = false

    @Flag(name: .shortAndLong, help: "Show on standard error what happens. Secrets are masked.")
    var verbose = false

    @Flag(name: .shortAndLong, help: "No progress bar.")
    var quiet = false

    @Flag(help: "Print on standard error how long the last attempt's steps took.")
    var timing = false

    @Flag(help: "Print one JSON object about response or error.")
    var json = false

    func validate() throws {
        for (name, seconds) in [("--timeout", timeout), ("--connect-timeout", connectTimeout)] {
            guard let seconds else { continue }
            guard seconds > 0, seconds <= 1e9 else { throw ValidationError("\(name) takes a number of seconds above 0, such as 2.5.") }
        }
        guard (0...100).contains(retry) else { throw ValidationError("--retry takes a count of 0 to 100.") }
        if let limitRate, ByteRate(limitRate) == nil {
            throw ValidationError("--limit-rate takes bytes a second, such as 200k or 1.5M, and not '\(limitRate.prefix(40))'.")
        }
        if credentials.setsAuthorization, fieldNames.contains("authorization") {
            throw ValidationError("Give either -H 'Authorization: …' or --user or --bearer.")
        }
        do throws(NetworkError) { _ = try (resolves(), connectsTo()) } catch { throw ValidationError("\(error.message).") }
        guard maxRedirects >= 0 else { throw ValidationError("--max-redirects takes a count of 0 or more.") }
        for header in headers {
            do throws(NetworkError) { _ = try HeaderArgument(header) } catch {
                throw ValidationError("\(error.message)\(Advice.about(error).map { "; \($0)" } ?? "").")
            }
        }
    }

    /// The URL as it may be shown: without credentials.
    var shownURL: String { SecretMask().maskedURL(url) }

    /// The names of the fields given with `-H`, in lower case.
    var fieldNames: Set<String> {
        Set(headers.compactMap { header in (try? HeaderArgument(header))?.field.name.canonicalName })
    }

    private func resolves() throws(NetworkError) -> [ConnectionSettings.ResolveOverride] {
        try resolve.map { text throws(NetworkError) in try ConnectionSettings.ResolveOverride(argument: text) }
    }

    private func connectsTo() throws(NetworkError) -> [ConnectionSettings.ConnectOverride] {
        try connectTo.map { text throws(NetworkError) in try ConnectionSettings.ConnectOverride(argument: text) }
    }

    /// The way in which the request says who is asking. `fields` are those that go out besides the fields of `-H`.
    func proof(sending fields: HTTPFields = [:]) -> Advice.Proof {
        if fieldNames.contains("authorization") || fields[.authorization] != nil { return .field }
        let proof = credentials.proof
        // What stands in the URL goes before what a file has.
        guard proof == .nothing || proof == .netrc, let parsed = try? RequestURL(url), parsed.hasCredentials else { return proof }
        return .basic
    }

    /// A session of its own, with what the arguments say.
    private func session(
        _ console: Console, accepting validation: StatusValidation, sending fields: HTTPFields, timing: TimingObserver, hsts: HSTSFile?,
        configuring: (inout Session.Configuration) -> Void
    ) throws(ToolFailure) -> Session {
        var configuration = Session.Configuration(agent: RequestAgent())
        configuration.options = options(accepting: validation)
        let names = fieldNames.union(fields.map { $0.name.canonicalName })
        configuration.options.redirects.additionalSensitiveNames = names.filter { ShownField.isSecret($0) }
        // The body of an error is printed whole, like any other.
        configuration.errorBodyBytes = configuration.options.limits.bodyBytes
        configuration.hsts = hsts?.store
        if publicOnly { configuration.addressFilter = .publicOnly }
        configuration.tls.dangerouslyAcceptsAnyCertificate = insecure
        configuration.tls.dangerouslyAcceptsAnyHostName = insecure
        configuration.tls.dangerouslyAcceptsCommonName = allowCommonName
        configuration.tls.dangerouslyAcceptsMissingCloseNotify = insecure || allowMissingCloseNotify
        if let cacert { configuration.tls.certificateAuthority = .file(cacert) }
        do throws(NetworkError) { (configuration.resolves, configuration.connectsTo) = try (resolves(), connectsTo()) } catch {
            throw ToolFailure(error, about: "--resolve, --connect-to")
        }
        do throws(NetworkError) { try credentials.apply(to: &configuration) } catch {
            throw ToolFailure(error, about: credentials.netrcFile ?? "--netrc")
        }
        do throws(NetworkError) {
            for header in headers { configuration.headers.fields.append(try HeaderArgument(header).field) }
        } catch {
            throw ToolFailure(error, about: "--header")
        }
        addObservers(to: &configuration, console, timing)
        configuring(&configuration)
        return Session(configuration: configuration)
    }

    private func addObservers(to configuration: inout Session.Configuration, _ console: Console, _ timing: TimingObserver) {
        if self.timing || json { configuration.observers.append(timing) }
        if console.isLive { configuration.observers.append(ProgressObserver(console)) }
        guard verbose else { return }
        let observer = VerboseObserver(console)
        configuration.observers.append(observer)
        configuration.options.hooks.redirect = { hop in
            observer.request.willFollow(hop)
            return .follow
        }
    }

    private func options(accepting validation: StatusValidation) -> RequestOptions {
        var options = RequestOptions()
        options.timeouts.total = timeout.map { .seconds($0) }
        options.timeouts.connect = .seconds(connectTimeout)
        options.redirects.maxRedirects = maxRedirects
        if maxRedirects == 0 || noFollow { options.redirects.mode = .never }
        if retry > 0 { options.retry = RetryPolicy(maxAttempts: retry + 1) }
        options.access.httpsOnly = httpsOnly
        options.limits.uploadRate = limitRate.flatMap { ByteRate($0)?.bytes }
        options.limits.downloadRate = options.limits.uploadRate
        options.validation.statuses = validation
        return options
    }

    /// Runs `body` with a session that is gone when this returns, and so is all it left on disk.
    ///
    /// `fields` are those that go out besides the fields of `-H`. The observer that `body` gets is told of attempts with `--timing` and
    /// `--json` only. `configuring` has the last word about the session.
    func withSession<Result: Sendable>(
        accepting validation: StatusValidation, sending fields: HTTPFields = [:],
        configuring: (inout Session.Configuration) -> Void = { _ in },
        _ body: (Session, Console, TimingObserver) async throws(ToolFailure) -> Result
    ) async throws(ToolFailure) -> Result {
        let console = Console(isQuiet: quiet)
        let observer = TimingObserver()
        let hosts: HSTSFile? = if let hsts { try HSTSFile(hsts) } else { nil }
        let session = try session(console, accepting: validation, sending: fields, timing: observer, hsts: hosts, configuring: configuring)
        let result: Swift.Result<Result, ToolFailure>
        do throws(ToolFailure) { result = .success(try await body(session, console, observer)) } catch { result = .failure(error) }
        await session.shutdown(cancelling: !Self.isComplete(result))
        console.show("")
        try hosts?.save()
        if timing, let metrics = observer.metrics { for line in TimingTable.lines(metrics) { console.report(line) } }
        return try result.get()
    }

    /// Nothing is under way any more but the last words of a response, be it one of 400 and above.
    private static func isComplete<Result>(_ result: Swift.Result<Result, ToolFailure>) -> Bool {
        switch result {
        case .success: true
        case .failure(let failure): failure.status == .httpError
        }
    }

    /// The failure of a request; with `--json` also as an object on standard output.
    func failure(_ error: NetworkError, _ console: Console, _ proof: Advice.Proof) throws(ToolFailure) -> ToolFailure {
        console.show("")
        if json { try console.print(line: JSONText.line(ResponseReport(url: shownURL, error: error, proof))) }
        return ToolFailure(error, about: shownURL, proof)
    }
}
#endif
