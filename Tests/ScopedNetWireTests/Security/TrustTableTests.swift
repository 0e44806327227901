import CleanSlate
import Foundation
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// SEC-1, SEC-2, SEC-3, SEC-4, defect 40: every mode, chain, host, pin and switch against a real handshake.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(5)))
struct TrustTableTests {
    enum Mode: CaseIterable { case system, certificates, publicKeys, reportOnly }
    /// What is wrong with the chain, apart from pins and host.
    enum Chain: CaseIterable { case valid, unknownAuthority, expired }

    struct Row: Sendable, CustomTestStringConvertible {
        let mode: Mode
        let chain: Chain
        let isForHost: Bool
        var testDescription: String { "\(mode), \(chain), \(isForHost ? "this host" : "another host")" }
    }

    private struct Column {
        let isPinned: Bool
        let anyCertificate: Bool
        let anyHostName: Bool
    }

    private static let rows = Mode.allCases.flatMap { mode in
        Chain.allCases.flatMap { chain in [true, false].map { Row(mode: mode, chain: chain, isForHost: $0) } }
    }
    private static let columns = [true, false].flatMap { pinned in
        [true, false].flatMap { any in [true, false].map { Column(isPinned: pinned, anyCertificate: any, anyHostName: $0) } }
    }

    /// The table of Security.md. Nil is a response.
    private static func expected(_ row: Row, _ column: Column) -> NetworkError.Code? {
        let wrongHost: NetworkError.Code? = row.isForHost || column.anyHostName ? nil : .certificateWrongHost
        let invalid: NetworkError.Code? =
            switch row.chain {
            case .valid: nil
            case .unknownAuthority: .certificateUntrusted
            case .expired: .certificateExpired
            }
        switch row.mode {
        case .system, .reportOnly: return (column.anyCertificate ? nil : invalid) ?? wrongHost
        // The authority is not asked, and no switch helps.
        case .certificates:
            guard column.isPinned else { return .pinMismatch }
            return row.chain == .expired ? .certificateExpired : wrongHost
        case .publicKeys:
            if !column.anyCertificate, let invalid { return invalid }
            return wrongHost ?? (column.isPinned ? nil : .pinMismatch)
        }
    }

    private static func policy(_ mode: Mode, _ certificate: String) -> SecurityPolicy {
        switch mode {
        case .system: SecurityPolicy()
        case .certificates: SecurityPolicy(.certificates([.pem(certificate)]))
        case .publicKeys: SecurityPolicy(.publicKeys([.certificate(.pem(certificate)), TestChains.spare]))
        case .reportOnly: SecurityPolicy(.publicKeys([.certificate(.pem(certificate))], mode: .reportOnly))
        }
    }

    @Test(arguments: rows) func truthTable(_ row: Row) async throws {
        let chains = try TestChains()
        let hosts = row.isForHost ? ["localhost"] : ["elsewhere.test"]
        let own = try chains.server(hosts: hosts, validity: row.chain == .expired ? .expired : .current)
        let other = try chains.server()
        try await withLoopbackServer(.init(tls: own.shown)) { server in
            server.on("/", .ok("hello"))
            for column in Self.columns {
                let observer = EventRecorder()
                try await withSession {
                    $0.tls.certificateAuthority = .pem((row.chain == .unknownAuthority ? chains.stranger : chains.root).certificatePEM)
                    $0.tls.dangerouslyAcceptsAnyCertificate = column.anyCertificate
                    $0.tls.dangerouslyAcceptsAnyHostName = column.anyHostName
                    // The leaf for keys, what signed it for certificates.
                    let pinned = row.mode == .certificates ? chains.root.certificatePEM : own.alone.certificatePEM
                    let missing = row.mode == .certificates ? chains.stranger.certificatePEM : other.alone.certificatePEM
                    $0.security = Self.policy(row.mode, column.isPinned ? pinned : missing)
                    $0.observers = [observer]
                } _: { session in
                    let before = server.requests.count
                    let outcome = await session.request(server.url + "/").outcome()
                    let expected = Self.expected(row, column)
                    let comment = Comment(rawValue: "\(row.testDescription), \(column)")
                    switch outcome {
                    case .success(let response):
                        #expect(expected == nil, comment)
                        #expect(response.status == 200, comment)
                        let reports = row.mode == .reportOnly && !column.isPinned ? [SecurityPolicy.TrustFailure.Reason.pinMismatch] : []
                        #expect(observer.trustReports.map(\.reason) == reports, comment)
                    case .failure(let error):
                        #expect(error.code == expected, comment)
                        #expect(error.trust?.host == "localhost", comment)
                        #expect(error.trust?.chain.isEmpty == false, comment)
                        #expect(error.phase == .securing, comment)
                        #expect(server.requests.count == before, "a request was sent to a server that is not trusted")
                        #expect(observer.trustReports == [error.trust], comment)
                    }
                }
            }
        }
    }
}
