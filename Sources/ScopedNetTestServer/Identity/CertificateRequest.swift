#if TestServer
internal import CCrypto
internal import Glibc

/// A certificate to be made: X.509 version 3, P-256, ECDSA with SHA-256.
struct CertificateRequest {
    enum Usage {
        case authority, server, client
    }

    /// The signer.
    struct Issuer {
        let certificatePEM: String
        let privateKeyPEM: String
    }

    var commonName: String
    var hosts: [String] = []
    var validity = TestAuthority.Validity.current
    var usage: Usage

    /// Makes a key and the certificate for it; without an issuer it is signed with its own key.
    func signed(by issuer: Issuer? = nil) throws(TestCertificateError) -> TLSIdentity {
        let key = try CryptoObject(scry_p256_key(), "EVP_EC_gen", free: EVP_PKEY_free)
        let certificate = try CryptoObject(X509_new(), "X509_new", free: X509_free)
        let issuerCertificate = try issuer.map { issuer throws(TestCertificateError) in
            try CryptoObject.reading(issuer.certificatePEM, "PEM_read_bio_X509", free: X509_free) { PEM_read_bio_X509($0, nil, nil, nil) }
        }
        let issuerKey = try issuer.map { issuer throws(TestCertificateError) in
            try CryptoObject.reading(issuer.privateKeyPEM, "PEM_read_bio_PrivateKey", free: EVP_PKEY_free) {
                PEM_read_bio_PrivateKey($0, nil, nil, nil)
            }
        }
        try fill(certificate.pointer, key: key.pointer, issuer: issuerCertificate?.pointer)
        try addExtensions(to: certificate.pointer, issuer: issuerCertificate?.pointer)
        try TestCertificateError.check(X509_sign(certificate.pointer, (issuerKey ?? key).pointer, EVP_sha256()), "X509_sign")
        return TLSIdentity(
            certificatePEM: try CryptoObject.text("PEM_write_bio_X509") { PEM_write_bio_X509($0, certificate.pointer) },
            privateKeyPEM: try CryptoObject.text("PEM_write_bio_PKCS8PrivateKey") {
                PEM_write_bio_PKCS8PrivateKey($0, key.pointer, nil, nil, 0, nil, nil)
            }
        )
    }

    private func fill(_ certificate: OpaquePointer, key: OpaquePointer, issuer: OpaquePointer?) throws(TestCertificateError) {
        try TestCertificateError.check(X509_set_version(certificate, 2), "X509_set_version")
        // 20 bytes, positive (RFC 5280, section 4.1.2.2).
        let serial = try CryptoObject(BN_new(), "BN_new", free: BN_free)
        try TestCertificateError.check(BN_rand(serial.pointer, 159, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY), "BN_rand")
        guard BN_to_ASN1_INTEGER(serial.pointer, X509_get_serialNumber(certificate)) != nil else { throw .latest("BN_to_ASN1_INTEGER") }
        let seconds = validity.seconds
        guard X509_gmtime_adj(X509_getm_notBefore(certificate), seconds.from) != nil,
            X509_gmtime_adj(X509_getm_notAfter(certificate), seconds.until) != nil
        else { throw .latest("X509_gmtime_adj") }
        let subject = X509_get_subject_name(certificate)
        // As UTF8String of any length: what OpenSSL takes for a common name is shorter, and tests want names that are too long.
        let name = Array(commonName.utf8)
        try TestCertificateError.check(
            X509_NAME_add_entry_by_NID(subject, NID_commonName, V_ASN1_UTF8STRING, name, Int32(clamping: name.count), -1, 0),
            "X509_NAME_add_entry_by_NID")
        try TestCertificateError.check(
            X509_set_issuer_name(certificate, issuer.map { X509_get_subject_name($0) } ?? subject), "X509_set_issuer_name")
        try TestCertificateError.check(X509_set_pubkey(certificate, key), "X509_set_pubkey")
    }

    private func addExtensions(to certificate: OpaquePointer, issuer: OpaquePointer?) throws(TestCertificateError) {
        let isAuthority = usage == .authority
        var extensions = [
            (NID_basic_constraints, isAuthority ? "critical,CA:TRUE" : "critical,CA:FALSE"),
            (NID_key_usage, isAuthority ? "critical,keyCertSign,cRLSign" : "critical,digitalSignature"),
        ]
        if !isAuthority { extensions.append((NID_ext_key_usage, usage == .server ? "serverAuth" : "clientAuth")) }
        extensions.append((NID_subject_key_identifier, "hash"))
        if issuer != nil { extensions.append((NID_authority_key_identifier, "keyid:always")) }
        for (nid, value) in extensions {
            let added = try CryptoObject(scry_extension(certificate, issuer, nid, value), "extension \(value)", free: X509_EXTENSION_free)
            try TestCertificateError.check(X509_add_ext(certificate, added.pointer, -1), "X509_add_ext")
        }
        if !hosts.isEmpty { try addHosts(to: certificate) }
    }

    /// An address is named by its bytes, everything else as a DNS name (RFC 5280, section 4.2.1.6). Not in the words of a configuration, in
    /// which a name could hold a comma.
    private func addHosts(to certificate: OpaquePointer) throws(TestCertificateError) {
        let names = try CryptoObject(scry_names_new(), "sk_GENERAL_NAME_new_null", free: scry_names_free)
        for host in hosts {
            let address = Self.addressBytes(host)
            let bytes = address ?? Array(host.utf8)
            guard let text = ASN1_STRING_type_new(address == nil ? V_ASN1_IA5STRING : V_ASN1_OCTET_STRING) else {
                throw .latest("ASN1_STRING_type_new")
            }
            guard ASN1_STRING_set(text, bytes, Int32(clamping: bytes.count)) == 1, let name = GENERAL_NAME_new() else {
                ASN1_STRING_free(text)
                throw .latest("GENERAL_NAME_new")
            }
            // The name owns the text now, and the list owns the name.
            GENERAL_NAME_set0_value(name, address == nil ? GEN_DNS : GEN_IPADD, text)
            guard scry_names_push(names.pointer, name) > 0 else {
                GENERAL_NAME_free(name)
                throw .latest("sk_GENERAL_NAME_push")
            }
        }
        try TestCertificateError.check(
            X509_add1_ext_i2d(certificate, NID_subject_alt_name, UnsafeMutableRawPointer(names.pointer), 0, UInt(X509V3_ADD_DEFAULT)),
            "X509_add1_ext_i2d")
    }

    private static func addressBytes(_ host: String) -> [UInt8]? {
        for (family, count) in [(AF_INET, 4), (AF_INET6, 16)] {
            var bytes = [UInt8](repeating: 0, count: count)
            if inet_pton(family, host, &bytes) == 1 { return bytes }
        }
        return nil
    }
}
#endif
