#if TestServerTLS
internal import NIOCore
internal import NIOSSL

extension ConnectionHandler {
    func tlsDetails(of channel: any Channel) -> RecordedRequest.TLSDetails? {
        let operations = channel.pipeline.syncOperations
        guard let handler = try? operations.handler(type: NIOSSLServerHandler.self), let version = handler.tlsVersion
        else { return nil }
        return RecordedRequest.TLSDetails(
            version: version.name,
            serverName: serverName,
            clientSubject: handler.peerCertificate.flatMap { try? $0.toDERBytes() }.flatMap { CertificateText.subject(ofDER: $0) },
            applicationProtocol: applicationProtocol
        )
    }
}

extension TLSVersion {
    fileprivate var name: String {
        switch self {
        case .tlsv1: "TLSv1"
        case .tlsv11: "TLSv1.1"
        case .tlsv12: "TLSv1.2"
        case .tlsv13: "TLSv1.3"
        }
    }
}
#endif
