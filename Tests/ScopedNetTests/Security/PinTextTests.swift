import CleanSlate
import Foundation
import Testing

@testable import ScopedNet

/// SEC-5
@Suite(.leavesNothing) struct PinTextTests {
    /// RFC 7469 section 2.1.5.
    private static let example = "d6qzRu9zOECb90Uez27xWltNsj0e1Md7GkYYkVoZWmM="

    @Test func threeFormsAreTheSamePin() throws {
        let pin = try #require(PinText("sha256/" + Self.example))
        #expect(pin.digest.count == 32 && pin.digest.first == 0x77)
        #expect(PinText("sha256//" + Self.example) == pin)
        #expect(PinText("pin-sha256=\"\(Self.example)\"") == pin)
        #expect(pin.text == "sha256/" + Self.example)
    }

    @Test func aHashMayBeginWithASlash() throws {
        let digest = [UInt8](repeating: 0xFF, count: 32)
        let text = PinText(digest: digest).text
        #expect(text.hasPrefix("sha256//"))
        #expect(PinText(text)?.digest == digest)
        #expect(PinText("sha256//" + text.dropFirst(7))?.digest == digest)
    }

    @Test(arguments: [
        "", "sha256", "sha256/", "sha256//", example, "sha1/" + example, "SHA256/" + example, " sha256/" + example,
        "sha256/" + example + " ",
        "sha256/" + example.dropLast(), "sha256/" + example + "=", "sha256///" + example, "pin-sha256=" + example,
        "pin-sha256=\"" + example, "pin-sha256=\"\"", "sha256/d6qzRu9zOECb90Uez27xWltNsj0e1Md7GkYYkVoZWm\u{E9}=",
        // Two bits more than the hash has, and the other alphabet of base64.
        "sha256/d6qzRu9zOECb90Uez27xWltNsj0e1Md7GkYYkVoZWmN=", "sha256/d6qzRu9zOECb90Uez27xWltNsj0e1Md7GkYYkVoZ-mM=",
        "sha256/" + example + ";sha256/" + example,
    ])
    func nothingElseIsAPin(_ text: String) { #expect(PinText(text) == nil) }
}

@Suite(.leavesNothing) struct PEMTextTests {
    private func parse(_ text: String) -> [[UInt8]]? { PEMText.certificates(in: Array(text.utf8)) }

    @Test func textAroundIsIgnored() {
        let one = "-----BEGIN CERTIFICATE-----\nAQID\n-----END CERTIFICATE-----"
        #expect(parse(one) == [[1, 2, 3]])
        #expect(parse("subject=x\r\n" + one.replacing("\n", with: "\r\n") + "\r\n\r\n" + one + "\nend") == [[1, 2, 3], [1, 2, 3]])
        #expect(parse("  -----BEGIN CERTIFICATE-----  \n AQ\n\tID \n-----END CERTIFICATE-----\t") == [[1, 2, 3]])
        #expect(parse("") == [])
        #expect(parse("-----BEGIN PRIVATE KEY-----\nAQID\n-----END PRIVATE KEY-----") == [])
    }

    @Test(arguments: [
        "-----BEGIN CERTIFICATE-----\nAQID", "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----",
        "-----BEGIN CERTIFICATE-----\nA!\n-----END CERTIFICATE-----", "-----BEGIN CERTIFICATE-----\n-----BEGIN CERTIFICATE-----",
        "-----END CERTIFICATE-----", "-----BEGIN CERTIFICATE-----\nA: b\n\nAQID\n-----END CERTIFICATE-----",
    ])
    func whatIsDamagedIsRefused(_ text: String) { #expect(parse(text) == nil) }
}
