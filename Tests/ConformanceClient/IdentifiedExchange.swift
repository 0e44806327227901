import ScopedNet

/// One exchange with a server that wants to know who asks; says what came of it. For terminals: no test process has one.
///
///     ConformanceClient identity URL AUTHORITY CERTIFICATE KEY
enum IdentifiedExchange {
    static func run(url: String, authority: String, certificate: String, key: String) async {
        var configuration = Session.Configuration(agent: RequestAgent())
        configuration.proxy = .none
        configuration.tls.certificateAuthority = .file(authority)
        configuration.tls.clientCertificate = .files(certificate: certificate, key: key)
        let session = Session(configuration: configuration)
        do throws(NetworkError) {
            print("status", try await session.send(url).status)
        } catch {
            print("error", error.code)
        }
        await session.shutdown()
    }
}
