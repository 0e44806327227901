import CleanSlate
import Foundation
import HTTPTypes
import ScopedNetTesting
import SystemSupport
import Testing

@testable import ScopedNet

/// The sample signer, by AWS's published examples, by signatures of botocore, and in a session.
@Suite(.leavesNothing, .timeLimit(.minutes(2))) struct AWSSignatureV4Tests {
    private static let emptyHash = MessageDigest.sha256.hexadecimal([])

    // MARK: AWS's own examples

    /// One of AWS's examples, and the signature that it states.
    struct Example: Sendable, CustomTestStringConvertible {
        let name: String
        var method = HTTPRequest.Method.get
        var target = "/"
        var fields: HTTPFields = [:]
        var body = ""
        var token: String?
        let signature: String
        var testDescription: String { name }
    }

    private static let unreserved = "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    private static let own = HTTPField.Name("My-Header1")!

    private static func fields(_ values: [String]) -> HTTPFields { HTTPFields(values.map { HTTPField(name: own, value: $0) }) }

    private func signature(
        _ example: Example, _ host: String, _ signer: AWSSignatureV4, _ date: String
    ) throws -> AWSSignatureV4.Signature {
        let hash = MessageDigest.sha256.hexadecimal(Array(example.body.utf8))
        let date = try Date(date, strategy: .iso8601)
        return signer.signature(example.method, "https://\(host)\(example.target)", example.fields, bodyHash: hash, at: date)
    }

    /// The Signature Version 4 test suite of AWS, under its names of the cases.
    private static let suite: [Example] = [
        Example(name: "get-vanilla", signature: "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
        Example(
            name: "get-vanilla-query-order-key-case", target: "/?Param2=value2&Param1=value1",
            signature: "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"),
        Example(
            name: "get-vanilla-query-order-value", target: "/?Param1=value2&Param1=value1",
            signature: "5772eed61e12b33fae39ee5e7012498b51d56abc0abb7c60486157bd471c4694"),
        Example(
            name: "get-vanilla-query-order-key", target: "/?Param1=value2&Param1=Value1",
            signature: "eedbc4e291e521cf13422ffca22be7d2eb8146eecf653089df300a15b2382bd1"),
        Example(
            name: "get-vanilla-empty-query-key", target: "/?Param1=value1",
            signature: "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb"),
        Example(
            name: "get-vanilla-query-unreserved", target: "/?\(unreserved)=\(unreserved)",
            signature: "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197"),
        Example(
            name: "get-vanilla-utf8-query", target: "/?\u{1234}=bar",
            signature: "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04"),
        Example(
            name: "get-header-key-duplicate", fields: fields(["value2", "value2", "value1"]),
            signature: "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea"),
        Example(
            name: "get-header-value-order", fields: fields(["value4", "value1", "value3", "value2"]),
            signature: "08c7e5a9acfcfeb3ab6b2185e75ce8b1deb5e634ec47601a50643f830c755c01"),
        Example(
            name: "get-header-value-trim", fields: [own: " value1", HTTPField.Name("My-Header2")!: " \"a   b   c\""],
            signature: "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"),
        Example(
            name: "get-unreserved", target: "/\(unreserved)",
            signature: "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f"),
        Example(
            name: "get-utf8", target: "/\u{1234}", signature: "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"),
        Example(
            name: "get-space", target: "/example space/",
            signature: "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741"),
        Example(
            name: "get-slashes", target: "//example//", signature: "9a624bd73a37c9a373b5312afbebe7a714a789de108f0bdfe846570885f57e84"),
        Example(
            name: "get-slash-pointless-dot", target: "/./example",
            signature: "ef75d96142cf21edca26f06005da7988e4f8dc83a165a80865db7089db637ec5"),
        Example(
            name: "get-relative-relative", target: "/example1/example2/../..",
            signature: "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
        Example(
            name: "post-vanilla", method: .post, signature: "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
        Example(
            name: "post-vanilla-query", method: .post, target: "/?Param1=value1",
            signature: "28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11"),
        Example(
            name: "post-header-key-sort", method: .post, fields: fields(["value1"]),
            signature: "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c"),
        Example(
            name: "post-header-value-case", method: .post, fields: fields(["VALUE1"]),
            signature: "cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d"),
        Example(
            name: "post-x-www-form-urlencoded", method: .post, fields: [.contentType: "application/x-www-form-urlencoded"],
            body: "Param1=value1", signature: "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"),
        Example(
            name: "post-x-www-form-urlencoded-parameters", method: .post,
            fields: [.contentType: "application/x-www-form-urlencoded; charset=utf8"], body: "Param1=value1",
            signature: "1a72ec8f64bd914b0e42e42607c7fbce7fb2c7465f63e3092b3b0d39fa77a6fe"),
        Example(
            name: "post-sts-header-before", method: .post,
            token: "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthA"
                + "x7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+"
                + "xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA==",
            signature: "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead"),
    ]

    @Test(arguments: suite) func theTestSuiteOfAWSIsMet(_ example: Example) throws {
        let secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
        let signer = AWSSignatureV4(
            credentials: .init(accessKey: "AKIDEXAMPLE", secretKey: secret, sessionToken: example.token), region: "us-east-1",
            service: "service")
        let made = try signature(example, "example.amazonaws.com", signer, "2015-08-30T12:36:00Z")
        #expect(made.authorization.hasPrefix("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "))
        #expect(made.authorization.hasSuffix(", Signature=\(example.signature)"), "\(made.canonicalRequest)")
    }

    /// "Signature Calculations for the Authorization Header" of the Amazon S3 API Reference.
    private static let objects: [Example] = [
        Example(
            name: "GET Object", target: "/test.txt", fields: [.range: "bytes=0-9"],
            signature: "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"),
        Example(
            name: "PUT Object", method: .put, target: "/test$file.text",
            fields: [.date: "Fri, 24 May 2013 00:00:00 GMT", HTTPField.Name("x-amz-storage-class")!: "REDUCED_REDUNDANCY"],
            body: "Welcome to Amazon S3.", signature: "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"),
        Example(
            name: "GET Bucket Lifecycle", target: "/?lifecycle",
            signature: "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
        Example(
            name: "List Objects", target: "/?max-keys=2&prefix=J",
            signature: "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
    ]

    @Test(arguments: objects) func theExamplesOfS3AreMet(_ example: Example) throws {
        let made = try signature(example, "examplebucket.s3.amazonaws.com", Self.signer("s3"), "2013-05-24T00:00:00Z")
        #expect(made.authorization.hasSuffix(", Signature=\(example.signature)"), "\(made.canonicalRequest)")
        #expect(made.fields[HTTPField.Name("X-Amz-Date")!] == "20130524T000000Z")
    }

    /// The texts on the way to a signature, as the page has them for its first example.
    @Test func theStepsOfS3sFirstExampleAreMet() throws {
        let made = try signature(Self.objects[0], "examplebucket.s3.amazonaws.com", Self.signer("s3"), "2013-05-24T00:00:00Z")
        let canonical = """
            GET
            /test.txt

            host:examplebucket.s3.amazonaws.com
            range:bytes=0-9
            x-amz-content-sha256:\(Self.emptyHash)
            x-amz-date:20130524T000000Z

            host;range;x-amz-content-sha256;x-amz-date
            \(Self.emptyHash)
            """
        #expect(made.canonicalRequest == canonical)
        let text = """
            AWS4-HMAC-SHA256
            20130524T000000Z
            20130524/us-east-1/s3/aws4_request
            7344ae5b7ee6c3e7e6b0fe0640412a37625d1fbfff95c48bbb2dc43964946972
            """
        #expect(made.stringToSign == text)
    }

    // MARK: botocore

    /// A line of the fixture; `Scripts/aws-sigv4-vectors` says what the letters stand for, and writes the file.
    private struct Vector: Decodable {
        let k: Int, s: String, r: String, t: Double, m: String, u: String, f: [[String]], b: String?, n: String, g: String

        /// Nil for one with a field that is none.
        var request: InterceptedRequest? {
            guard let method = HTTPRequest.Method(m) else { return nil }
            var fields = HTTPFields()
            for field in f {
                guard let name = HTTPField.Name(field[0]) else { return nil }
                fields.append(HTTPField(name: name, value: field[1]))
            }
            let bytes = b.map { Data(base64Encoded: $0) ?? Data() }
            let body = bytes.map { $0.isEmpty ? nil : RequestBody.data($0) } ?? .file("not/read")
            return InterceptedRequest(url: u, method: method, headers: HeaderFields(fields), body: body)
        }
    }

    private struct Keys: Decodable { let keys: [[String?]] }

    /// In tenths, which run side by side, and let other tests have their turn.
    @Test(arguments: 0..<10) func botocoreSignsTheSame(_ tenth: Int) async throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Fixtures/aws-sigv4.jsonl")
        let lines = try Data(contentsOf: file).split(separator: UInt8(ascii: "\n"))
        #expect(lines.count == 1001)
        let keys = try JSONDecoder().decode(Keys.self, from: try #require(lines.first)).keys
        for (number, line) in zip(2..., lines.dropFirst()) where number % 10 == tenth {
            await Task.yield()
            let vector = try JSONDecoder().decode(Vector.self, from: line)
            let (request, key) = (try #require(vector.request), keys[vector.k])
            let signer = AWSSignatureV4(
                credentials: .init(accessKey: key[0] ?? "", secretKey: key[1] ?? "", sessionToken: key[2]), region: vector.r,
                service: vector.s)
            let made = signer.signature(
                request.method, request.url, request.headers.fields, bodyHash: try signer.bodyHash(of: request),
                at: Date(timeIntervalSince1970: vector.t))
            let same = made.authorization.hasSuffix(", SignedHeaders=\(vector.n), Signature=\(vector.g)")
            #expect(same, "line \(number):\n\(made.canonicalRequest)\n\(made.stringToSign)")
        }
    }

    // MARK: Bodies and URLs

    private static func signer(_ service: String, now: @escaping @Sendable () -> Date = { .distantPast }) -> AWSSignatureV4 {
        let secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
        return AWSSignatureV4(
            credentials: .init(accessKey: "AKIAIOSFODNN7EXAMPLE", secretKey: secret), region: "us-east-1", service: service, now: now)
    }

    @Test func aFileIsUnsignedForS3OverTLSAlone() throws {
        let file = InterceptedRequest(url: "https://a.test/x", method: .put, body: .file("not/read"))
        #expect(try Self.signer("s3").signed(file, at: .now).headers["X-Amz-Content-Sha256"] == "UNSIGNED-PAYLOAD")
        var plain = file
        plain.url = "http://a.test/x"
        #expect(throws: AWSSignatureV4.UnknownBody.self) { try Self.signer("s3").signed(plain, at: .now) }
        let error = #expect(throws: AWSSignatureV4.UnknownBody.self) { try Self.signer("iam").signed(file, at: .now) }
        #expect(error.map { "\($0)".contains("iam wants the hash of the body") && "\($0)".contains("X-Amz-Content-Sha256") } == true)
    }

    /// The caller may have it from elsewhere.
    @Test func theHashOfAFileCanBeGiven() throws {
        var file = InterceptedRequest(url: "http://a.test/x", method: .put, body: .file("not/read"))
        file.headers["X-Amz-Content-Sha256"] = Self.emptyHash
        for service in ["s3", "glacier"] {
            #expect(try Self.signer(service).bodyHash(of: file) == Self.emptyHash)
            #expect(try Self.signer(service).signed(file, at: .now).headers["X-Amz-Content-Sha256"] == Self.emptyHash)
        }
    }

    @Test func theURLIsSignedAsItIsSent() throws {
        let signer = Self.signer("iam")
        let signed = try signer.signed(InterceptedRequest(url: "https://a.test/b/../caf\u{E9}?x=\u{E9}"), at: .distantPast)
        #expect(signed.url.lowercased() == "https://a.test/caf%c3%a9?x=%c3%a9")
        let sent = try signer.signed(InterceptedRequest(url: signed.url), at: .distantPast)
        #expect(sent.headers[.authorization] == signed.headers[.authorization])
        #expect(throws: NetworkError.self) { try signer.signed(InterceptedRequest(url: "/relative"), at: .now) }
    }

    @Test func fieldsThatAHopMayChangeAreNotSigned() {
        let fields: HTTPFields = [
            .userAgent: "x", .expect: "100-continue", .connection: "close", .contentLength: "7", .accept: "*/*",
            HTTPField.Name("X-Amzn-Trace-Id")!: "Root=1",
        ]
        let made = Self.signer("iam").signature(.get, "https://A.test:443/", fields, bodyHash: Self.emptyHash, at: .now)
        #expect(made.authorization.contains(" SignedHeaders=accept;host;x-amz-date, "))
        #expect(made.canonicalRequest.contains("\nhost:a.test\n") && made.fields[.userAgent] == "x")
    }

    @Test func anEarlierSignatureIsReplaced() throws {
        let signer = Self.signer("s3")
        let first = try signer.signed(InterceptedRequest(url: "https://a.test/"), at: .distantPast)
        let again = try signer.signed(first, at: .distantPast)
        #expect(again.headers.fields == first.headers.fields)
    }

    // MARK: In a session

    /// A server's check: the signature is made anew of what was sent, and of nothing else.
    private func isTrue(
        _ exchange: MockExchange, _ signer: AWSSignatureV4, _ change: (inout HTTPFields) -> Void = { _ in }
    ) throws -> Bool {
        var sent = exchange.headers
        // These two libcurl adds by itself, behind the transport.
        sent[.accept] = sent[.accept] ?? "*/*"
        sent[HTTPField.Name("Host")!] = try RequestURL(exchange.url).host
        change(&sent)
        let authorization = try #require(sent[.authorization])
        let names = try #require(authorization.firstMatch(of: /SignedHeaders=([^,]*)/)).1.split(separator: ";").map(String.init)
        let date = try #require(sent[HTTPField.Name("X-Amz-Date")!])
        let signed = HTTPFields(sent.filter { names.contains($0.name.canonicalName) })
        let made = signer.signature(
            exchange.method, exchange.url, signed, bodyHash: MessageDigest.sha256.hexadecimal(Array(exchange.body ?? Data())),
            at: try Date(date, strategy: Date.ISO8601FormatStyle(dateSeparator: .omitted, timeSeparator: .omitted)))
        return made.authorization == authorization
    }

    @Test func eachAttemptIsSignedAnew() async throws {
        // An hour between two signatures.
        let seconds = Lock(1_369_350_000.0)
        let signer = Self.signer("s3") {
            Date(
                timeIntervalSince1970: seconds.withLock { seconds in
                    seconds += 3600
                    return seconds
                })
        }
        let session = MockTransport.session("https://examplebucket.s3.amazonaws.com/") {
            $0.options.retry = RetryPolicy(maxAttempts: 2, backoffBase: .zero)
            $0.options.interceptors.exchange = [signer]
        }
        session.mock.on(.put, "a b", [.status(503), .ok("stored")])
        let response = try await session.send("a%20b", method: .put, body: .data(Data("Welcome to Amazon S3.".utf8)))
        #expect(response.status == 200)
        let exchanges = session.mock.exchanges
        #expect(exchanges.map { $0.headers[HTTPField.Name("X-Amz-Date")!] } == ["20130524T000000Z", "20130524T010000Z"])
        #expect(Set(exchanges.map { $0.headers[.authorization] }).count == 2)
        for exchange in exchanges {
            #expect(try isTrue(exchange, signer))
            #expect(try !isTrue(exchange, signer) { $0[.accept] = "text/plain" })
            #expect(try !isTrue(exchange, signer) { $0[HTTPField.Name("X-Amz-Date")!] = "20130524T000001Z" })
        }
    }

    @Test func aBodyOfUnknownHashIsNotSent() async throws {
        let session = MockTransport.session("https://iam.amazonaws.com/") { $0.options.interceptors.exchange = [Self.signer("iam")] }
        let pieces = AsyncStream<Data> { $0.finish() }
        let error = await #expect(throws: NetworkError.self) { try await session.send("x", method: .post, body: .stream(pieces)) }
        #expect(error?.code == .interceptorFailed && error?.underlying is AWSSignatureV4.UnknownBody)
        #expect(session.mock.exchanges.isEmpty)
    }
}
