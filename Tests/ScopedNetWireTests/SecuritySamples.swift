import CleanSlate
import ScopedNet
import ScopedNetTestServer
import Testing

/// The samples about pins, word for word, as `DocumentationTests` wants them.
private struct SecuritySamples: Sendable {
    // MARK: Security.md

    func pinnedSession() -> Session {
        var configuration = Session.Configuration()
        configuration.security.hosts["api.example.com"] = .publicKeys([
            "sha256/d6qzRu9zOECb90Uez27xWltNsj0e1Md7GkYYkVoZWmM=",
            "sha256/E9CZ9INDbd+2eRQozYqqbQ2yXLVKB9+xcprMF+44U1g=",  // the backup, in a safe
        ])
        configuration.security.hosts["*.cluster.example.com"] = .certificates([.file("/etc/cluster/ca.pem")])
        return Session(configuration: configuration)
    }

    func explain(_ error: NetworkError) -> String {
        guard let failure = error.underlying as? SecurityPolicy.TrustFailure else { return "\(error)" }
        let chain = failure.chain.map { "\($0.subject), \($0.publicKeyPin ?? "no key")" }
        return "\(failure.host): \(failure.reason.rawValue)\n" + chain.joined(separator: "\n")
    }

    struct TrustReporter: RequestObserver {
        let send: @Sendable (SecurityPolicy.TrustFailure) -> Void

        func observe(_ event: RequestEvent) {
            if case .trustReported(let failure) = event.kind { send(failure) }
        }
    }
}

@Suite(.leavesNothing, .timeLimit(.minutes(1))) struct SecuritySampleTests {
    @Test func theSamplesDoWhatTheySay() async throws {
        let pinned = SecuritySamples().pinnedSession()
        #expect(pinned.configuration.security.hosts.count == 2)

        let server = LoopbackServer(.init(tls: try TestAuthority.makeSelfSignedIdentity()))
        try await server.start()
        let reports = AsyncStream<SecurityPolicy.TrustFailure>.makeStream()
        var configuration = Session.Configuration(agent: RequestAgent())
        configuration.proxy = .none
        configuration.observers = [SecuritySamples.TrustReporter { reports.continuation.yield($0) }]
        let session = Session(configuration: configuration)
        var text = ""
        do throws(NetworkError) { _ = try await session.send(server.url + "/") } catch { text = SecuritySamples().explain(error) }
        #expect(text.hasPrefix("localhost: untrusted\nCN=localhost, sha256/"))
        var iterator = reports.stream.makeAsyncIterator()
        #expect(await iterator.next()?.host == "localhost")
        await server.stop()
    }
}
