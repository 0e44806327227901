import CleanSlate
import Foundation
import ScopedNetTestServer
import Testing

@testable import ScopedNet

@Suite(.leavesNothing) struct CertificateFieldsTests {
    /// Made by OpenSSL, as are the values beside it.
    private static let pem = """
        -----BEGIN CERTIFICATE-----
        MIIB4zCCAYmgAwIBAgIDEtaHMAoGCCqGSM49BAMCMHkxCzAJBgNVBAYTAkRFMQ8w
        DQYDVQQHDAZLB8O2bG4xGTAXBgNVBAoMEErDvHJnZW4gJiBTw7ZobmUxDDAKBgNV
        BAsMA1IrRDESMBAGA1UEAwwJRXgsIGFtcGxlMRwwGgYJKoZIhvcNAQkBFg1hQGV4
        YW1wbGUuY29tMCAXDTIzMTExNDIyMTMyMFoYDzIwNTIwNTIyMTQxMzIwWjB5MQsw
        CQYDVQQGEwJERTEPMA0GA1UEBwwGSwfDtmxuMRkwFwYDVQQKDBBKw7xyZ2VuICYg
        U8O2aG5lMQwwCgYDVQQLDANSK0QxEjAQBgNVBAMMCUV4LCBhbXBsZTEcMBoGCSqG
        SIb3DQEJARYNYUBleGFtcGxlLmNvbTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IA
        BKme4JUPrhkGVMIcy9K4oPTnPJnq3i9DVtF2lwiEhlH6SzogYZ8SOvfWhaAL7FLR
        GTiGrSpYNyw8ZkVXO6DD/tUwCgYIKoZIzj0EAwIDSAAwRQIhAO6aKOwCE4hu5rSP
        UQU0lZwBPmB5VOZwtdWwV5Ng5Ko+AiB+5H0MkNTkFqiKGwbwnrUBhwO3BHA/SdsS
        PsWRsJj+Wg==
        -----END CERTIFICATE-----
        """
    private static let pin = "sha256/opOkr2zhSjm0E0ocI8vkt9bJuMnrswfE84lb+30/64g="

    private func der() throws -> [UInt8] { try #require(PEMText.certificates(in: Array(Self.pem.utf8))?.first) }

    @Test func theyAreWhatOpenSSLSays() throws {
        let fields = try #require(CertificateFields(try der()))
        #expect(fields.subject == #"emailAddress=a@example.com,CN=Ex\, ample,OU=R\+D,O=Jürgen & Söhne,L=K\\x7öln,C=DE"#)
        #expect(fields.issuer == fields.subject)
        #expect(fields.notBefore == Date(timeIntervalSince1970: 1_700_000_000))
        // After 2049, so in the longer form.
        #expect(fields.notAfter == Date(timeIntervalSince1970: 2_600_000_000))
        let certificate = SecurityPolicy.ServerCertificate(der: Data(try der()))
        #expect(certificate.publicKeyPin == Self.pin)
        #expect(CertificateFields.isPublicKey(Array(certificate.publicKey)))
    }

    @Test func aCertificateOfTheTestAuthority() throws {
        let authority = try TestAuthority(name: "Ann")
        let certificate = SecurityPolicy.ServerCertificate(der: try #require(Data(certificatePEM: authority.certificatePEM)))
        #expect(certificate.subject == "CN=Ann" && certificate.issuer == "CN=Ann" && "\(certificate)" == "CN=Ann")
        let (from, until) = (try #require(certificate.notBefore), try #require(certificate.notAfter))
        #expect(from < Date() && until > Date())
    }

    @Test func everyPrefixIsRefused() throws {
        let der = try der()
        for count in 0..<der.count { #expect(CertificateFields(Array(der.prefix(count))) == nil) }
        #expect(CertificateFields(der + [0]) == nil)
    }

    /// No byte that is another one makes it trap, and none in the key leaves the pin as it was.
    @Test func everyOtherByteIsSurvived() throws {
        let der = try der()
        let key = Array(try #require(CertificateFields(der)).publicKey)
        let start = try #require((0...(der.count - key.count)).first { Array(der[$0..<($0 + key.count)]) == key })
        for index in der.indices {
            var other = der
            other[index] ^= 0x5A
            let fields = CertificateFields(other)
            if (start..<(start + key.count)).contains(index) { #expect(fields?.publicKey != key) }
        }
    }

    @Test func whatIsNoCertificateHasNothing() {
        let certificate = SecurityPolicy.ServerCertificate(der: Data("nonsense".utf8))
        #expect(certificate.subject.isEmpty && certificate.issuer.isEmpty && certificate.publicKey.isEmpty)
        #expect(certificate.publicKeyPin == nil && certificate.notBefore == nil && certificate.notAfter == nil)
    }

    @Test(
        arguments: [
            [], [0x30], [0x30, 0], [0x30, 0x80, 0, 0], [0x30, 0x84, 0xFF, 0xFF, 0xFF, 0xFF], [0x30, 0x85, 0, 0, 0, 0, 0], [0x3F, 0x81, 0],
            [0x30, 2, 0x30, 0], [0x30, 4, 0x30, 0, 3, 0], [0x30, 8, 0x30, 2, 6, 0, 3, 2, 0, 1, 0],
        ] as [[UInt8]])
    func whatIsNoKeyIsRefused(_ bytes: [UInt8]) {
        #expect(!CertificateFields.isPublicKey(bytes))
        #expect(CertificateFields(bytes) == nil)
    }
}
