import CleanSlate
import Foundation
import HTTPTypes
import Testing

@_spi(Transport) @testable import ScopedNet

@Suite(.leavesNothing)
struct ExchangeBuilderTests {
    private func template(_ method: HTTPRequest.Method = .get, body: RequestBody? = nil, _ options: RequestOptions = .init()) throws
        -> RequestTemplate
    {
        RequestTemplate(
            url: try RequestURL("http://host.test/start"), method: method, fields: [.accept: "text/plain"],
            headers: try HeaderBlock([.accept: "text/plain"]), body: body, options: options, transferOptions: TransferOptions(),
            destination: nil, errorBodyBytes: 100)
    }

    private func builder(_ template: RequestTemplate) -> ExchangeBuilder {
        ExchangeBuilder(template, runID: 7, wantsProgress: true, wantsMilestones: true)
    }

    @Test("the first exchange is what the template says, and is made once")
    func first() throws {
        let template = try template(.post, body: .data(Data("body".utf8)))
        var exchanges = builder(template)
        let id = exchanges.id
        #expect(exchanges.isFirst && exchanges.attempt == 1 && exchanges.deadline == nil && exchanges.headers === template.headers)
        let first = exchanges.current
        #expect(first === exchanges.current && first.id == id && !exchanges.isFirst)
        #expect(first.url === template.url && first.method == .post && first.headers === template.headers && first.runID == 7)
        #expect(first.body != nil && first.wantsProgress && first.wantsMilestones && first.attempt == 1)
        #expect(!first.repeatsSilently && !first.isConnectOnly)
    }

    @Test("fields, options and deadline of one that was not sent change under its own name")
    func changes() throws {
        var exchanges = builder(try template())
        let id = exchanges.id
        let headers = try HeaderBlock([.cookie: "a=b"])
        exchanges.setHeaders(headers)
        exchanges.setDeadline(99)
        exchanges.setOptions(TransferOptions(maxHeaderBytes: 5))
        #expect(exchanges.id == id && exchanges.current.id == id && exchanges.current.headers === headers)
        #expect(exchanges.current.deadline == 99 && exchanges.current.options.maxHeaderBytes == 5)
        #expect(exchanges.ownHeaders === headers && !exchanges.isConditional)
    }

    @Test("a retry is the next attempt of the same, within the same deadline")
    func retry() throws {
        var exchanges = builder(try template())
        exchanges.setDeadline(99)
        let last = exchanges.current
        let renewed = try HeaderBlock([.authorization: "Digest nc=2"])
        exchanges.retry(renewed, onFreshConnection: false)
        #expect(exchanges.id != last.id && exchanges.current.id == exchanges.id)
        #expect(exchanges.attempt == 2 && exchanges.deadline == 99 && exchanges.headers === renewed && exchanges.options === last.options)
        exchanges.retry(renewed, onFreshConnection: true)
        #expect(exchanges.attempt == 3 && exchanges.options.usesFreshConnection)
    }

    @Test("a redirect has its own URL, method, fields and body; whether it may be repeated silently goes by its method")
    func redirect() throws {
        var exchanges = builder(try template(.post, body: .data(Data("body".utf8))))
        exchanges.retry(try HeaderBlock([:]), onFreshConnection: false)
        exchanges.setDeadline(99)
        let (id, headers) = (exchanges.id, try HeaderBlock([.accept: "*/*"]))
        exchanges.redirect(to: try RequestURL("https://other.test/"), .get, headers, nil)
        #expect(exchanges.id != id && exchanges.url.string == "https://other.test/" && exchanges.method == .get && exchanges.body == nil)
        #expect(exchanges.headers === headers && exchanges.current.repeatsSilently)
        // Both count for the run as a whole.
        #expect(exchanges.attempt == 2 && exchanges.deadline == 99)
    }

    @Test("silent repeats are for idempotent methods, and for runs that allow them")
    func silentRepeats() throws {
        var options = RequestOptions()
        options.retry.silentReconnect = false
        var never = builder(try template(.get, options))
        #expect(!never.current.repeatsSilently)
        never.redirect(to: try RequestURL("http://host.test/2"), .get, try HeaderBlock([:]), nil)
        #expect(!never.current.repeatsSilently)
        var get = builder(try template(.get))
        #expect(get.current.repeatsSilently)
        get.redirect(to: try RequestURL("http://host.test/2"), .post, try HeaderBlock([:]), nil)
        #expect(!get.current.repeatsSilently)
    }

    @Test("the cache's fields are sent, and what comes next begins with the request's own")
    func layers() throws {
        var exchanges = builder(try template())
        let own = try HeaderBlock([.accept: "text/plain", .cookie: "a=b"])
        let (conditional, other) = (try HeaderBlock([.ifNoneMatch: "\"1\""]), try HeaderBlock([.ifNoneMatch: "\"2\""]))
        exchanges.setHeaders(own)
        exchanges.condition(conditional)
        #expect(exchanges.headers === conditional && exchanges.ownHeaders === own && exchanges.isConditional)
        exchanges.condition(other)
        #expect(exchanges.headers === other && exchanges.ownHeaders === own)
        // A failed attempt is made again as it was.
        exchanges.retry(other, onFreshConnection: false)
        #expect(exchanges.headers === other && exchanges.ownHeaders === own && exchanges.isConditional)

        var challenged = exchanges
        let answer = try HeaderBlock([.authorization: "Basic"])
        challenged.again(answer)
        #expect(challenged.headers === answer && challenged.ownHeaders === answer && !challenged.isConditional)

        var redirected = exchanges
        redirected.redirect(to: try RequestURL("http://host.test/2"), .get, own, nil)
        #expect(redirected.headers === own && !redirected.isConditional)

        var resumed = exchanges
        let range = try HeaderBlock([.range: "bytes=5-"])
        resumed.setHeaders(range)
        #expect(resumed.headers === range && resumed.ownHeaders === range && !resumed.isConditional && resumed.id == exchanges.id)
    }

    @Test("another body comes with its fields, in both layers")
    func anotherBody() throws {
        var exchanges = builder(try template(.put, body: .data(Data("body".utf8))))
        let (sent, own) = (try HeaderBlock([.contentType: "text/a"]), try HeaderBlock([.contentType: "text/b"]))
        let id = exchanges.id
        exchanges.replaceBody(.data(Data("other one".utf8)), sent, own: nil)
        #expect(exchanges.id != id && exchanges.headers === sent && exchanges.ownHeaders === sent)
        #expect(exchanges.body?.length == 9)
        exchanges.condition(try HeaderBlock([.ifMatch: "\"1\""]))
        exchanges.replaceBody(.data(Data()), sent, own: own)
        #expect(exchanges.headers === sent && exchanges.ownHeaders === own && exchanges.body?.length == 0)
    }

    @Test("a refresh is a first attempt of its own run, with the fields of the request and without its deadline")
    func refresh() throws {
        var exchanges = builder(try template())
        let own = exchanges.headers
        exchanges.setDeadline(99)
        exchanges.retry(own, onFreshConnection: false)
        exchanges.condition(try HeaderBlock([.ifNoneMatch: "\"1\""]))
        var refresh = exchanges.refresh(runID: 8)
        #expect(refresh.id != exchanges.id && refresh.current.runID == 8 && refresh.attempt == 1 && refresh.deadline == nil)
        #expect(refresh.headers === own && !refresh.isConditional && !refresh.current.wantsProgress && refresh.current.wantsMilestones)
    }

    @Test("a connection for later carries no request")
    func connection() throws {
        let options = TransferOptions()
        let connect = ExchangeBuilder.connect(to: try RequestURL("http://host.test/"), options, deadline: 99)
        #expect(connect.isConnectOnly && connect.deadline == 99 && connect.options === options && connect.runID == 0)
    }

    @Test("interceptors of the call replace the request; those of an exchange replace that exchange alone")
    func intercepted() throws {
        var exchanges = builder(try template(.post, body: .data(Data("body".utf8))))
        let id = exchanges.id
        let (first, headers) = (try RequestURL("http://host.test/called"), try HeaderBlock([.accept: "a/b"]))
        exchanges.condition(headers)
        exchanges.replace(first, .get, headers, nil)
        #expect(!exchanges.isConditional && exchanges.url === first && exchanges.method == .get && exchanges.body == nil)
        #expect(exchanges.current.repeatsSilently && exchanges.headers === headers)
        #expect(exchanges.id != id && exchanges.located === exchanges.current)
        // One exchange, elsewhere.
        let (signed, elsewhere) = (try HeaderBlock([.authorization: "signed"]), try RequestURL("http://other.test/"))
        let plain = exchanges.current
        exchanges.intercept(elsewhere, .post, signed, .data(Data("other".utf8)))
        #expect(exchanges.sent.url === elsewhere && exchanges.sent.method == .post && exchanges.sent.headers === signed)
        #expect(exchanges.sent.body != nil && !exchanges.sent.repeatsSilently && exchanges.sent.id == exchanges.id)
        #expect(exchanges.sentURL === elsewhere && exchanges.url === first && exchanges.current === plain)
        #expect(exchanges.located.url === elsewhere && exchanges.located.headers === headers && exchanges.located.method == .get)
        exchanges.setDeadline(99)
        #expect(exchanges.sent.deadline == 99 && exchanges.sent.url === elsewhere && exchanges.deadline == 99)
        // The next one is the request's own again.
        exchanges.retry(headers, onFreshConnection: false)
        #expect(exchanges.sent === exchanges.current && exchanges.sent.url === first && exchanges.sentURL === first)
        exchanges.intercept(first, .get, signed, nil)
        #expect(exchanges.located === exchanges.current && exchanges.sent.headers === signed)
    }

    @Test("a connection and a channel send nothing, and may be tried again")
    func connections() throws {
        let url = try RequestURL("https://host.test/")
        let connection = ExchangeBuilder.connect(to: url, TransferOptions(), deadline: 7)
        #expect(connection.isConnectOnly && connection.repeatsSilently && connection.deadline == 7 && connection.pipe == nil)
        let channel = ExchangeBuilder.channel(to: url, TransferOptions(), ChannelPipe(window: 1, origin: CodeOrigin(#fileID, #line)))
        #expect(channel.isConnectOnly && channel.repeatsSilently && channel.wantsMilestones && channel.pipe != nil)
        #expect(channel.options.usesFreshConnection && channel.options.httpVersion == .http1)
    }
}
