public import FoundationEssentials

extension SecurityPolicy {
    /// Where a pinned certificate comes from. Read once, when the session's first request starts.
    ///
    /// What cannot be read, holds no certificate or is damaged makes every request of the session fail with
    /// ``NetworkError/Code/invalidOption`` before anything is sent.
    public enum PinnedCertificate: Sendable, Hashable {
        /// One certificate in DER (RFC 5280).
        case der(Data)
        /// One or more certificates in PEM (RFC 7468); text around them is ignored.
        case pem(String)
        /// A file with either of the two, 4 MiB at most.
        case file(String)
        /// Every `.cer`, `.crt`, `.der` and `.pem` in a directory; there must be one.
        case directory(String)
    }
}
