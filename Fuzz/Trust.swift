@testable import ScopedNet

/// What people write for pins and hosts: a pin has 32 bytes and one text, a pattern is for somebody.
@Sendable func fuzzPin(_ input: UnsafeRawBufferPointer) {
    let text = input.text
    if let pin = PinText(text) {
        check(pin.digest.count == 32, "\(text) has \(pin.digest.count) bytes")
        check(PinText(pin.text) == pin, "\(pin.text) is read as another pin than \(text)")
    }
    if let certificates = PEMText.certificates(in: Array(input)) {
        check(certificates.allSatisfy { !$0.isEmpty }, "a certificate is empty")
    }
    guard let patterns = try? HostPatterns([text: 1]) else { return }
    check(text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "\(text) is taken for a host")
    let host = text.hasPrefix("*.") ? "a." + text.dropFirst(2) : text
    check(patterns.closest(to: host) == 1, "\(text) is not for \(host)")
    check(patterns.closest(to: host.uppercased()) == 1, "\(text) is not for \(host.uppercased())")
    check(
        patterns.closest(to: "other.invalid") == nil || text.lowercased().hasSuffix("invalid") || text.lowercased().hasSuffix("invalid."),
        text)
}

/// Certificates: nothing that is read lies outside the bytes, and what is shown is one line.
@Sendable func fuzzCertificate(_ input: UnsafeRawBufferPointer) {
    let bytes = Array(input)
    _ = CertificateFields.isPublicKey(bytes)
    guard let fields = CertificateFields(bytes) else { return }
    check(CertificateFields.isPublicKey(fields.publicKey), "the key is none")
    check(fields.publicKey.count < bytes.count, "the key is larger than its certificate")
    for name in [fields.subject, fields.issuer] { check(name.unicodeScalars.allSatisfy { $0.value >= 0x20 }, "\(name) is not one line") }
    check(CertificateFields(bytes) == fields, "read twice it is another one")
    check(CertificateFields(bytes + [0]) == nil, "with a byte behind it is one, too")
}
