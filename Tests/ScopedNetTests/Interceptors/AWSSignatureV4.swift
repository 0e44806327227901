import FoundationEssentials
import HTTPTypes

@testable import ScopedNet

/// The signer of Amazon Web Services, by Signature Version 4 in the `Authorization` field: a sample of an interceptor of the exchange.
///
/// ```swift
/// let signer = AWSSignatureV4(credentials: .init(accessKey: "AKID…", secretKey: secret), region: "eu-central-1", service: "s3")
/// configuration.options.interceptors.exchange = [signer]
/// ```
///
/// It is the last of its place, as nothing may change behind it. Each attempt and each redirect gets a signature of its own, so that none
/// is too old: AWS refuses those of more than 5 to 15 minutes. An interceptor before it that leads to another host sets `Host` as well.
struct AWSSignatureV4: Interceptor {
    /// The keys of an account or a role.
    struct Credentials: Sendable {
        var accessKey: String
        var secretKey: String
        /// Of temporary credentials; nil for permanent ones.
        var sessionToken: String?
    }

    let credentials: Credentials
    /// Such as `us-east-1`.
    let region: String
    /// The name in the credential scope, such as `s3`, `iam` or `execute-api`.
    let service: String
    /// The time of a signature.
    var now: @Sendable () -> Date = { Date() }

    /// The hash of a body is not known, and the service asks for it.
    struct UnknownBody: Error, CustomStringConvertible {
        let service: String
        var description: String {
            "\(service) wants the hash of the body, and a file or a sequence is read while it is sent: send bytes, set "
                + "\(AWSSignatureV4.contentHash.rawName) to the hash, or, for s3 alone, use https"
        }
    }

    func intercept(
        _ request: InterceptedRequest, context: InterceptedRequest.Context, next: InterceptedRequest.Next
    ) async throws -> InterceptedResponse {
        try await next(signed(request, at: now()))
    }

    /// The request with the fields of the signature, which replace those of an earlier one.
    func signed(_ request: InterceptedRequest, at date: Date) throws -> InterceptedRequest {
        var request = request
        // As it is sent: without dot segments, and with letters beyond ASCII in percent-encoding.
        request.url = try RequestURL(request.url).string
        let hash = try bodyHash(of: request)
        let signature = signature(request.method, request.url, request.headers.fields, bodyHash: hash, at: date)
        request.headers.fields = signature.fields
        return request
    }

    /// The hash that the signature covers; a fixed text for an S3 body that is protected by TLS alone.
    ///
    /// - Throws: ``UnknownBody``.
    func bodyHash(of request: InterceptedRequest) throws -> String {
        let (given, bytes) = (request.headers.fields[Self.contentHash], request.bodyBytes)
        // The caller may know the hash of a file. S3 gets that of the bytes: one that a redirect brought along may be of another body.
        if let given, !isS3 || bytes == nil { return given }
        if let bytes { return MessageDigest.sha256.hexadecimal(Array(bytes)) }
        guard isS3, request.url.lowercased().hasPrefix("https:") else { throw UnknownBody(service: service) }
        return "UNSIGNED-PAYLOAD"
    }

    private var isS3: Bool { service == "s3" }
}

// MARK: The signature

extension AWSSignatureV4 {
    /// A signature, and the texts that it is made of.
    struct Signature: Sendable {
        let canonicalRequest: String
        let stringToSign: String
        /// The value of `Authorization`.
        let authorization: String
        /// The fields to send.
        let fields: HTTPFields
    }

    /// Signs a request whose body has this hash, by its arguments and the keys alone.
    func signature(
        _ method: HTTPRequest.Method, _ url: String, _ fields: HTTPFields, bodyHash: String, at date: Date
    ) -> Signature {
        let timestamp = date.formatted(Self.timestamps)
        var fields = fields
        fields[.authorization] = nil
        fields[Self.date] = timestamp
        if let token = credentials.sessionToken { fields[Self.token] = token }
        if isS3 { fields[Self.contentHash] = bodyHash }
        let target = Target(url)
        let lines = Self.canonicalFields(fields, host: target.host)
        let names = lines.map(\.name).joined(separator: ";")
        let request = [
            method.rawValue, isS3 ? target.pathEncodedOnce : target.pathEncodedTwice, target.canonicalQuery,
            lines.map { "\($0.name):\($0.value)\n" }.joined(), names, bodyHash,
        ].joined(separator: "\n")
        let scope = "\(timestamp.prefix(8))/\(region)/\(service)/aws4_request"
        let text = "AWS4-HMAC-SHA256\n\(timestamp)\n\(scope)\n\(MessageDigest.sha256.hexadecimal(Array(request.utf8)))"
        let signature = HMAC(key: signingKey(String(timestamp.prefix(8)))).hexadecimal(text)
        let authorization =
            "AWS4-HMAC-SHA256 Credential=\(credentials.accessKey)/\(scope), SignedHeaders=\(names), Signature=\(signature)"
        fields[.authorization] = authorization
        return Signature(canonicalRequest: request, stringToSign: text, authorization: authorization, fields: fields)
    }

    /// The secret never signs by itself: a key that leaks is good for a day, a region and a service.
    private func signingKey(_ day: String) -> [UInt8] {
        [day, region, service, "aws4_request"].reduce(Array("AWS4\(credentials.secretKey)".utf8)) { HMAC(key: $0).hash($1) }
    }

    /// Name and value of each field that is signed, in the order of the names.
    private static func canonicalFields(_ fields: HTTPFields, host: String) -> [(name: String, value: String)] {
        var values: [String: [String]] = [:]
        for field in fields where !unsigned.contains(field.name.canonicalName) {
            // By bytes: a space that is followed by a combining letter is a space all the same.
            let words = field.value.utf8.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
            values[field.name.canonicalName, default: []].append(words.map { String(Substring($0)) }.joined(separator: " "))
        }
        if values["host"] == nil { values["host"] = [host] }
        return values.sorted { $0.key < $1.key }.map { ($0.key, $0.value.joined(separator: ",")) }
    }

    /// The fields of one connection, and others that a proxy or a tracer may change on the way: those that botocore leaves out. Besides
    /// them `Content-Length`, which is the transport's: where another interceptor has changed the body, it is not the one that is shown.
    private static let unsigned: Set = [
        "connection", "content-length", "expect", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer",
        "transfer-encoding", "upgrade", "user-agent", "x-amzn-trace-id",
    ]

    private static let date = HTTPField.Name("X-Amz-Date")!
    private static let token = HTTPField.Name("X-Amz-Security-Token")!
    private static let contentHash = HTTPField.Name("X-Amz-Content-Sha256")!
    /// `20150830T123600Z`.
    private static let timestamps = Date.ISO8601FormatStyle(dateSeparator: .omitted, timeSeparator: .omitted)
}

// MARK: The target

extension AWSSignatureV4 {
    /// The parts of a URL in their canonical form.
    private struct Target {
        /// In lower case, with a port that is not the scheme's.
        let host: String
        private let path: Substring.UTF8View
        private let query: Substring.UTF8View

        init(_ url: String) {
            // By bytes: a slash that is followed by a combining letter is a slash all the same.
            let text = url.utf8.prefix { $0 != UInt8(ascii: "#") }
            let scheme = text.prefix { $0 != UInt8(ascii: ":") }
            let rest = text[scheme.endIndex...].dropFirst(3)
            let authority = rest.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
            let name = authority[(authority.lastIndex(of: UInt8(ascii: "@")).map(authority.index(after:)) ?? authority.startIndex)...]
            let (host, port) = (String(Substring(name)).lowercased(), String(Substring(scheme)).lowercased() == "https" ? ":443" : ":80")
            self.host = host.hasSuffix(port) ? String(host.dropLast(port.count)) : host
            let target = rest[authority.endIndex...]
            path = target.prefix { $0 != UInt8(ascii: "?") }
            query = target[path.endIndex...].dropFirst()
        }

        /// For S3, whose keys may hold empty and dotted segments: the bytes of each segment, encoded.
        var pathEncodedOnce: String {
            let segments = path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            return path.isEmpty ? "/" : segments.map { Target.encoded(Target.decoded($0)) }.joined(separator: "/")
        }

        /// For all other services: without empty and dotted segments, and what was encoded for the URL is encoded again.
        var pathEncodedTwice: String {
            var segments: [String] = []
            for segment in path.split(separator: UInt8(ascii: "/")) {
                switch String(Substring(segment)) {
                case ".": break
                case "..": _ = segments.popLast()
                default: segments.append(Target.encoded(segment))
                }
            }
            let end = path.last == UInt8(ascii: "/") && !segments.isEmpty ? "/" : ""
            return "/" + segments.joined(separator: "/") + end
        }

        /// The pairs in the order of their bytes. A name without a value has an empty one.
        var canonicalQuery: String {
            let pairs = query.split(separator: UInt8(ascii: "&")).map { pair in
                let name = pair.prefix { $0 != UInt8(ascii: "=") }
                return [name, pair[name.endIndex...].dropFirst()].map { Target.encoded(Target.decoded($0)) }
            }
            return pairs.sorted { ($0[0], $0[1]) < ($1[0], $1[1]) }.map { $0.joined(separator: "=") }.joined(separator: "&")
        }

        /// Every byte but the unreserved ones of RFC 3986 section 2.3 as a percent sign and two digits.
        private static func encoded(_ bytes: some Sequence<UInt8>) -> String {
            let digits = Array("0123456789ABCDEF".utf8)
            let text = bytes.flatMap { byte -> [UInt8] in
                switch byte {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                    UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"):
                    [byte]
                default: [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
                }
            }
            return String(decoding: text, as: UTF8.self)
        }

        /// The bytes of a percent-encoded text. A plus sign is a plus sign, and a percent sign without two digits is one.
        private static func decoded(_ text: Substring.UTF8View) -> [UInt8] {
            var (bytes, rest) = ([UInt8](), text)
            while let byte = rest.popFirst() {
                let digits = rest.prefix(2).compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
                if byte == UInt8(ascii: "%"), digits.count == 2 {
                    bytes.append(UInt8(digits[0] << 4 | digits[1]))
                    rest = rest.dropFirst(2)
                } else {
                    bytes.append(byte)
                }
            }
            return bytes
        }
    }
}

/// A keyed hash (RFC 2104) over SHA-256. A program would take the one of swift-crypto.
private struct HMAC {
    private static let block = 64
    private let key: [UInt8]

    init(key: [UInt8]) {
        let short = key.count > Self.block ? MessageDigest.sha256.hash(key) : key
        self.key = short + [UInt8](repeating: 0, count: Self.block - short.count)
    }

    func hash(_ text: String) -> [UInt8] { MessageDigest.sha256.hash(outer(text)) }
    func hexadecimal(_ text: String) -> String { MessageDigest.sha256.hexadecimal(outer(text)) }

    private func outer(_ text: String) -> [UInt8] {
        key.map { $0 ^ 0x5C } + MessageDigest.sha256.hash(key.map { $0 ^ 0x36 } + Array(text.utf8))
    }
}
