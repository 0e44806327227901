import CCurl

/// The verification of the servers that a transfer connects to.
extension CurlEasy {
    /// A TLS connection is about to be made (CURLOPT_SSL_CTX_FUNCTION(3)): to the server, or to a proxy.
    func securing(_ context: OpaquePointer) -> CURLcode {
        loop.preconditionOnNetworkThread()
        guard let transfer, let rules = loop.profile.trustRules else { return CURLE_SSL_CONNECT_ERROR }
        // Behind a proxy there may be a second one for the same transfer.
        deliver(trust.takeReport())
        let toleratesCut = loop.settings.tls.dangerouslyAcceptsMissingCloseNotify
        return trust.begin(loop.profile.trustPeers(for: transfer.url, rules), in: context, toleratesCut: toleratesCut)
    }

    /// Over TLS the end of the connection ends a body only where the server said that it would close: who sits in between can cut it off anywhere
    /// (RFC 9112 section 9.8). Once libcurl has read the end it gives the connection up, and with it who could tell. Where the connection is one to
    /// a proxy that is asked for an `http` URL, that proxy is the server.
    func expectCloseNotify() {
        // Rules there are only where libcurl's OpenSSL is this process's: what another one calls a session is nothing to be looked into.
        let endsBody = loop.profile.trustRules != nil && parser.isFramedByClose && transfer.map { $0.method != .head } ?? false
        trust.expectEnd(of: endsBody ? scurl_openssl_session(handle).map { OpaquePointer($0) } : nil)
    }

    /// The body ended with the connection, and nobody had said that it would.
    func endedUnannounced(_ code: CURLcode) -> Bool {
        trust.endsUnannounced && (code == CURLE_OK || CurlError(easy: self, code: code).isUnexpectedEnd)
    }

    /// The error of such an end, unless it is to be taken for the end of the body.
    var unannouncedEnd: NetworkError? {
        guard !loop.settings.tls.dangerouslyAcceptsMissingCloseNotify else { return nil }
        return error(.truncatedBody, "the connection ended without the close_notify that ends the body: it may have been cut short")
    }

    /// To those who look, before what comes of the connection.
    func deliver(_ report: SecurityPolicy.TrustFailure?) {
        guard let report, let transfer, let sink, transfer.wantsMilestones else { return }
        sink.transfer(transfer.id, didReach: .trustReported(report), batch: loop.batch)
    }
}

extension EasyProfile {
    /// The servers that have to prove themselves on the way to a URL: the URL's own, and a proxy that is spoken to over TLS.
    func trustPeers(for url: RequestURL, _ rules: TrustRules) -> [TrustCheck.Peer] {
        var peers: [TrustCheck.Peer] = []
        if url.scheme == "https" {
            let tls = settings.tls
            let leniency = TrustDecision.Leniency(
                acceptsAnyCertificate: tls.dangerouslyAcceptsAnyCertificate, acceptsAnyHostName: tls.dangerouslyAcceptsAnyHostName,
                acceptsCommonName: tls.dangerouslyAcceptsCommonName)
            peers.append(TrustCheck.Peer(host: url.host, port: url.port, rules: rules, leniency: leniency))
        }
        if let proxy = securedProxy(for: url) {
            // libcurl's own settings for proxies are strict and stay so.
            peers.append(TrustCheck.Peer(host: proxy.host, port: proxy.port, rules: rules, leniency: .init()))
        }
        return peers
    }
}

extension CurlError {
    /// The error of a server that was not believed; nil for any other. `suspected` follows from libcurl's own code and text.
    func trustError(_ suspected: NetworkError.Code, _ text: String) -> NetworkError? {
        let found: SecurityPolicy.TrustFailure
        if let failure = easy.trust.failure, Self.endsHandshake(code) {
            found = failure
        } else {
            let reason: SecurityPolicy.TrustFailure.Reason
            switch suspected {
            case .certificateUntrusted: reason = .untrusted
            case .certificateExpired: reason = .expired
            case .certificateWrongHost: reason = .wrongHost
            default: return nil
            }
            found = unseen(reason, text)
        }
        var error = easy.error(found.reason.code, found.description, phase: .securing, curl: Int32(bitPattern: code.rawValue))
        error.underlying = found
        return error
    }

    private static func endsHandshake(_ code: CURLcode) -> Bool {
        [CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CONNECT_ERROR, CURLE_PROXY].contains(code)
    }

    /// libcurl rejected it for itself, or its TLS library shows nobody what it verifies.
    private func unseen(_ reason: SecurityPolicy.TrustFailure.Reason, _ text: String) -> SecurityPolicy.TrustFailure {
        let url = easy.transferURL
        return SecurityPolicy.TrustFailure(
            host: HostPatterns<Never>.bare(url?.host ?? ""), port: url?.port ?? 0, reason: reason, isReportOnly: false,
            verifyCode: Int32(truncatingIfNeeded: easy.info.number(CURLINFO_SSL_VERIFYRESULT)), verifyText: text, chain: [])
    }
}
