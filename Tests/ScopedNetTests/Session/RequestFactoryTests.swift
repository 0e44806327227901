import CleanSlate
import Foundation
import HTTPTypes
import ScopedNetTesting
import Testing

@testable @_spi(Transport) import ScopedNet

/// The layers of header fields.
@Suite(.leavesNothing) struct HeaderLayersTests {
    private let plain = HeaderLayers(defaults: [:])

    @Test func withoutFieldsOfAnyoneTheLibrarysAreSent() throws {
        let fields = try plain.fields([:], compressed: true)
        #expect(fields[.userAgent] == Session.Configuration.defaultUserAgent)
        #expect(fields[.acceptEncoding] == ContentDecoder.acceptEncodingValue)
        #expect(try plain.fields([:], compressed: false)[.acceptEncoding] == "identity")
    }

    @Test func theRequestsFieldsReplaceTheSessions() throws {
        let layers = HeaderLayers(defaults: ["X-Key": "session", "User-Agent": "app"])
        let name = try #require(HTTPField.Name("X-Key"))
        #expect(try layers.fields([:], compressed: true)[name] == "session")
        var own = HTTPFields()
        own.append(HTTPField(name: name, value: "1"))
        own.append(HTTPField(name: name, value: "2"))
        let fields = try layers.fields(own, compressed: true)
        #expect(fields[values: name] == ["1", "2"] && fields[.userAgent] == "app")
    }

    @Test func aRangeIsAskedForAsItIs() throws {
        #expect(try plain.fields([.range: "bytes=0-1"], compressed: true)[.acceptEncoding] == "identity")
        let own = try plain.fields([.range: "bytes=0-1", .acceptEncoding: "br"], compressed: true)
        #expect(own[.acceptEncoding] == "br")
    }

    @Test func aFieldOfTheSessionThatIsNoneFailsEachRequest() {
        let layers = HeaderLayers(defaults: ["X-Key": "a\r\nb"])
        #expect(throws: NetworkError.self) { try layers.fields([:], compressed: true) }
    }

    @Test func theWantedTypeIsSaidUnlessSomebodyNamesOne() {
        #expect(plain.accepting("application/json", [:])[.accept] == "application/json")
        #expect(plain.accepting(nil, [:])[.accept] == nil)
        #expect(plain.accepting("application/json", [.accept: "text/plain"])[.accept] == "text/plain")
        #expect(HeaderLayers(defaults: ["Accept": "*/*"]).accepting("application/json", [:])[.accept] == nil)
    }

    @Test func theBodyNamesItsType() throws {
        var body = RequestBody.data(Data("x".utf8))
        body.contentType = "text/plain"
        #expect(try HeaderLayers.typed([:], body)[.contentType] == "text/plain")
        #expect(try HeaderLayers.typed([.contentType: "text/html"], body)[.contentType] == "text/html")
        #expect(try HeaderLayers.typed([:], nil).isEmpty)
        body.contentEncoding = "gzip"
        #expect(try HeaderLayers.typed([:], body)[.contentEncoding] == "gzip")
        #expect(throws: NetworkError.self) { try HeaderLayers.typed([.contentEncoding: "br"], body) }
    }

    @Test func libcurlAddsNoTypeOfItsOwn() throws {
        let plain = try HeaderLayers.block([:], method: .get, body: nil)
        let post = try HeaderLayers.block([:], method: .post, body: nil)
        let fields: HTTPFields = [.contentType: "text/plain", .expect: "100-continue"]
        let typed = try HeaderLayers.block(fields, method: .post, body: .data(Data("x".utf8)))
        #expect(plain.fields.isEmpty && post.fields.isEmpty && typed.fields.count == 2)
    }

    @Test func theFramingIsTheTransports() {
        #expect(throws: NetworkError.self) { try HeaderLayers.block([.transferEncoding: "chunked"], method: .post, body: nil) }
        #expect(throws: NetworkError.self) {
            try HeaderLayers.block([.contentLength: "7"], method: .post, body: .data(Data("x".utf8)))
        }
    }
}

/// The resolving of URLs against a base URL.
@Suite(.leavesNothing) struct URLResolverTests {
    @Test func relativeURLsNeedABase() throws {
        let resolver = URLResolver(base: nil)
        #expect(try resolver.resolve("http://a.test/x").string == "http://a.test/x")
        #expect(throws: NetworkError.self) { try resolver.resolve("x") }
        #expect(try URLResolver(base: "http://a.test/v1/").resolve("x").string == "http://a.test/v1/x")
    }

    @Test func aURLIsParsedOnce() throws {
        let resolver = URLResolver(base: nil)
        #expect(try resolver.resolve("http://a.test/x") === resolver.resolve("http://a.test/x"))
    }

    @Test func onlySoManyAreRemembered() throws {
        let resolver = URLResolver(base: "http://a.test/")
        let first = try resolver.resolve("0")
        for number in 1..<URLResolver.capacity { _ = try resolver.resolve("\(number)") }
        #expect(try resolver.resolve("0") === first)
        _ = try resolver.resolve("one-more")
        #expect(try resolver.resolve("0") !== first)
    }
}

/// The making of descriptions and templates.
@Suite(.leavesNothing) struct RequestFactoryTests {
    private func withFactory(
        trust: @escaping @Sendable (RequestURL) throws(NetworkError) -> Void = { _ throws(NetworkError) in },
        changing change: (inout Session.Configuration) -> Void = { _ in }, _ body: (borrowing RequestFactory) throws -> Void
    ) throws {
        var configuration = Session.Configuration()
        configuration.baseURL = "http://a.test/v1/"
        change(&configuration)
        try body(RequestFactory(configuration, checkTrust: trust))
    }

    private func description(
        _ factory: borrowing RequestFactory, _ method: HTTPRequest.Method = .get, _ url: String = "x", query: Parameters = [:],
        headers: HeaderFields = [:], body: RequestBody? = nil, destination: String? = nil
    ) -> RequestDescription {
        factory.description(method, url, query, headers, body, accepting: nil, destination: destination, failure: nil)
    }

    private func code(_ body: () throws -> Void) -> NetworkError.Code? {
        do { try body() } catch { return (error as? NetworkError)?.code }
        return nil
    }

    @Test func aPlainTemplateIsMadeOnce() throws {
        try withFactory { factory in
            let template = try factory.template(description(factory))
            #expect(template.url.string == "http://a.test/v1/x" && template.method == .get)
            #expect(try factory.template(description(factory)) === template)
            #expect(try factory.template(description(factory, .head)) !== template)
            #expect(try factory.template(description(factory, headers: ["X-Key": "1"])) !== template)
        }
    }

    @Test func onlySoManyTemplatesAreRemembered() throws {
        try withFactory { factory in
            let first = try factory.template(description(factory, .get, "0"))
            for number in 1...RequestFactory.capacity { _ = try factory.template(description(factory, .get, "\(number)")) }
            #expect(try factory.template(description(factory, .get, "0")) !== first)
        }
    }

    @Test func aDescriptionHasTheSessionsOptions() throws {
        try withFactory(changing: { $0.options.tag = "feed" }) { factory in
            let plain = description(factory)
            #expect(plain.options === factory.defaultOptions && plain.options.value.tag == "feed")
            let download = description(factory, destination: "/tmp/file")
            #expect(download.options.value.tag == "feed" && !download.options.value.acceptsCompression)
        }
    }

    @Test func theQueryIsAppended() throws {
        try withFactory { factory in
            #expect(description(factory, .get, "x?a=1", query: ["b": "2"]).url == "x?a=1&b=2")
        }
    }

    @Test func whatIsWrongIsFoundBeforeAnythingIsSent() throws {
        try withFactory { factory in
            #expect(code { _ = try factory.template(description(factory, .connect)) } == .invalidOption)
            #expect(code { _ = try factory.template(description(factory, destination: "")) } == .invalidOption)
            #expect(code { _ = try factory.template(description(factory, destination: "/tmp/a\0b")) } == .fileUnwritable)
            #expect(code { _ = try factory.template(description(factory, .get, "ftp://a.test/")) } == .unsupportedScheme)
        }
        try withFactory(changing: { $0.options.timeouts.idle = .zero }) { factory in
            #expect(code { _ = try factory.template(description(factory)) } == .invalidOption)
        }
        try withFactory(changing: { $0.options.access.httpsOnly = true }) { factory in
            #expect(code { _ = try factory.template(description(factory)) } == .insecureConnection)
        }
    }

    @Test func aURLThatThePinsRefuseHasNoTemplate() throws {
        try withFactory(trust: { url throws(NetworkError) in
            throw NetworkError(.insecureConnection, phase: .preparing, message: url.host)
        }) { factory in
            #expect(code { _ = try factory.template(description(factory)) } == .insecureConnection)
        }
    }

    @Test func filesAreMovedInLargerPieces() {
        let options = RequestOptions()
        #expect(TransferOptions(options, body: nil, isFile: false).bufferBytes == OptionState.usualBufferBytes)
        #expect(TransferOptions(options, body: nil, isFile: true).bufferBytes == TransferOptions.fileBufferBytes)
    }
}
