import CleanSlate
import Foundation
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// SEC-2, SEC-3, SEC-4: what no handshake shows, or not easily. The whole table is in `TrustTableTests`.
@Suite(.leavesNothing) struct TrustDecisionTests {
    private let leaf: SecurityPolicy.ServerCertificate
    private let root: SecurityPolicy.ServerCertificate

    init() throws {
        let authority = try TestAuthority()
        leaf = SecurityPolicy.ServerCertificate(der: try #require(Data(certificatePEM: authority.makeServerIdentity().certificatePEM)))
        root = SecurityPolicy.ServerCertificate(der: try #require(Data(certificatePEM: authority.certificatePEM)))
    }

    private func decide(
        _ rule: TrustDecision.Rule, code: Int32 = 0, matchesHost: Bool = true, _ leniency: TrustDecision.Leniency = .init(),
        chain: [SecurityPolicy.ServerCertificate]? = nil
    ) -> TrustDecision {
        TrustDecision.decide(rule, leniency, .init(verifyCode: code, matchesHost: matchesHost, chain: chain ?? [leaf, root]))
    }

    private func keys(_ certificates: SecurityPolicy.ServerCertificate..., mode: SecurityPolicy.Mode = .enforce) -> TrustDecision.Rule {
        .publicKeys(Set(certificates.compactMap(\.publicKeyDigest)), mode)
    }

    @Test func codesHaveTheirReasons() {
        let reasons = [
            (9, SecurityPolicy.TrustFailure.Reason.expired), (10, .expired), (62, .wrongHost), (64, .wrongHost), (20, .untrusted),
            (1, .untrusted),
        ]
        for (code, reason) in reasons { #expect(decide(.system, code: Int32(code)) == .reject(reason)) }
        for code in [2, 18, 19, 20, 21, 27] as [Int32] {
            #expect(decide(.certificates([Array(root.der)]), code: code) == .reject(.pinMismatch))
        }
        #expect(decide(.certificates([Array(root.der)]), code: 10) == .reject(.expired))
        #expect(decide(.certificates([Array(root.der)]), code: 7) == .reject(.untrusted))
    }

    /// However the verification came to its result: without a pin in the chain there is no trust.
    @Test func aVerifiedChainWithoutAPinIsRejected() {
        let any = TrustDecision.Leniency(acceptsAnyCertificate: true, acceptsAnyHostName: true)
        for leniency in [TrustDecision.Leniency(), any] {
            #expect(decide(.certificates([[1, 2, 3]]), leniency) == .reject(.pinMismatch))
            #expect(decide(.certificates([]), leniency) == .reject(.pinMismatch))
            #expect(decide(.publicKeys([], .enforce), leniency) == .reject(.pinMismatch))
            #expect(decide(keys(root), leniency, chain: []) == .reject(.pinMismatch))
            #expect(decide(.certificates([Array(root.der)]), leniency, chain: []) == .reject(.pinMismatch))
        }
    }

    @Test func aCertificateThatCannotBeReadHasNoKey() {
        let nonsense = SecurityPolicy.ServerCertificate(der: Data([1, 2, 3]))
        #expect(decide(keys(leaf), chain: [nonsense]) == .reject(.pinMismatch))
        #expect(decide(keys(leaf), chain: [nonsense, leaf]) == .accept)
    }

    // Defect 40
    @Test func acceptingAnyCertificateKeepsTheHost() {
        let any = TrustDecision.Leniency(acceptsAnyCertificate: true)
        #expect(decide(keys(leaf), code: 20, matchesHost: false, any) == .reject(.wrongHost))
        #expect(decide(keys(leaf), code: 20, any) == .accept)
        #expect(decide(keys(root), code: 20, any) == .reject(.pinMismatch))
        #expect(decide(keys(root), any) == .accept)
        for rule in [TrustDecision.Rule.system, keys(leaf, mode: .reportOnly)] {
            #expect(decide(rule, code: 20, any) == .accept)
            #expect(decide(rule, code: 20, matchesHost: false, any) == .reject(.wrongHost))
            #expect(decide(rule, code: 20, matchesHost: false, .init(acceptsAnyCertificate: true, acceptsAnyHostName: true)) == .accept)
        }
    }

    @Test func ofTwoPeersEitherMayBeWhatOneOfThemMayBe() {
        let any = TrustDecision.Leniency(acceptsAnyCertificate: true)
        let name = TrustDecision.Leniency(acceptsAnyHostName: true)
        let subject = TrustDecision.Leniency(acceptsCommonName: true)
        #expect(any.or(name) == TrustDecision.Leniency(acceptsAnyCertificate: true, acceptsAnyHostName: true))
        #expect(name.or(subject) == TrustDecision.Leniency(acceptsAnyHostName: true, acceptsCommonName: true))
        for one in [any, name, subject, TrustDecision.Leniency()] {
            #expect(one.or(.init()) == one && TrustDecision.Leniency().or(one) == one)
        }
    }

    @Test func reportsChangeNothing() {
        #expect(decide(keys(mode: .reportOnly)) == .report(.pinMismatch))
        #expect(decide(keys(root, mode: .reportOnly)) == .accept)
        #expect(decide(keys(root, mode: .reportOnly), code: 20) == .reject(.untrusted))
        #expect(decide(keys(root, mode: .reportOnly), matchesHost: false) == .reject(.wrongHost))
        #expect(decide(keys(root, mode: .reportOnly), matchesHost: false, .init(acceptsAnyHostName: true)) == .accept)
    }
}
