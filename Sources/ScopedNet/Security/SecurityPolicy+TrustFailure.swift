extension SecurityPolicy {
    /// Why a server's certificates were rejected, or in report-only mode would have been: the `underlying` of the error, and the payload of
    /// ``RequestEvent/Kind/trustReported(_:)``.
    public struct TrustFailure: Error, Sendable, Hashable, CustomStringConvertible {
        /// What was wrong. New cases may be added; keep a default when you switch.
        public enum Reason: String, Sendable, Hashable {
            /// The chain leads to nobody who is trusted, or is broken (``NetworkError/Code/certificateUntrusted``).
            case untrusted
            /// A certificate of the chain is not valid now (``NetworkError/Code/certificateExpired``).
            case expired
            /// The certificate was made for others (``NetworkError/Code/certificateWrongHost``).
            case wrongHost
            /// None of what is pinned for the host is in the chain (``NetworkError/Code/pinMismatch``).
            case pinMismatch
        }

        /// Who should have been proven: the host of the URL, or the proxy where that one speaks TLS. No brackets.
        public let host: String
        /// The port of that server or proxy.
        public let port: Int
        /// The cause; it decides the code of the error.
        public let reason: Reason
        /// True where the request went on (``SecurityPolicy/Mode/reportOnly``).
        public let isReportOnly: Bool
        /// X509_V_ERR_* of OpenSSL (X509_STORE_CTX_get_error(3)); 0 where the chain was found valid.
        public let verifyCode: Int32
        /// The same in words, or what the TLS library said.
        public let verifyText: String
        /// The server's own certificate first. The verified chain with its root where one was found, else what the server sent; empty where the
        /// TLS library kept it to itself.
        public let chain: [SecurityPolicy.ServerCertificate]

        /// One line with host and cause, such as `the certificate of example.com was rejected: certificate has expired`.
        public var description: String {
            switch reason {
            case .untrusted, .expired: "the certificate of \(host) was rejected: \(verifyText)"
            case .wrongHost: "the certificate of \(host) was made for another host: \(chain.first?.subject ?? verifyText)"
            case .pinMismatch: "nothing that is pinned for \(host) is in its chain\(verifyCode == 0 ? "" : ": " + verifyText)"
            }
        }
    }
}

extension SecurityPolicy.TrustFailure.Reason {
    var code: NetworkError.Code {
        switch self {
        case .untrusted: .certificateUntrusted
        case .expired: .certificateExpired
        case .wrongHost: .certificateWrongHost
        case .pinMismatch: .pinMismatch
        }
    }
}
