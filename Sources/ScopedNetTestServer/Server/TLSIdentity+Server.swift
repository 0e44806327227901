#if TestServerTLS
internal import NIOSSL

extension TLSIdentity {
    func makeServerContext(
        protocols: [String], clientAuthority: TestAuthority?, versions: LoopbackServer.Configuration.TLSVersions
    ) throws -> NIOSSLContext {
        let chain = try NIOSSLCertificate.fromPEMBytes(Array(certificatePEM.utf8))
        let key = try NIOSSLPrivateKey(bytes: Array(privateKeyPEM.utf8), format: .pem)
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
        configuration.applicationProtocols = protocols
        configuration.minimumTLSVersion = versions.onlyTLS13 ? .tlsv13 : .tlsv12
        if versions.onlyTLS12 { configuration.maximumTLSVersion = .tlsv12 }
        if let clientAuthority {
            let roots = try NIOSSLCertificate.fromPEMBytes(Array(clientAuthority.certificatePEM.utf8))
            configuration.trustRoots = .certificates(roots)
            // Of a client there is no host name to check; without a certificate it is turned away.
            configuration.certificateVerification = .noHostnameVerification
        }
        return try NIOSSLContext(configuration: configuration)
    }
}
#endif
