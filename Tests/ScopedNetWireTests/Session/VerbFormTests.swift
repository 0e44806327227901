import CleanSlate
import Foundation
import HTTPTypes
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// The table of call forms: every verb by text and by `URL`, with each kind of body and of value, and the request that the server saw.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(3)))
struct VerbFormTests {
    private struct Item: Codable, Sendable, Equatable { var id: Int }

    // Variables, as programs have them.
    private let q = 1
    private let key = "k"
    private let id = 7
    private let missing: String? = nil

    /// The body of a request, with its type.
    private enum Sent {
        case nothing, bytes, json, form
        case other(type: String?, body: String)

        var type: String? {
            switch self {
            case .nothing: nil
            case .bytes: "text/plain"
            case .json: "application/json"
            case .form: "application/x-www-form-urlencoded"
            case .other(let type, _): type
            }
        }

        var body: String {
            switch self {
            case .nothing: ""
            case .bytes: "x"
            case .json: #"{"id":7}"#
            case .form: "id=7"
            case .other(_, let body): body
            }
        }
    }

    /// The value of a call, for a response of `{"id":7}`.
    private enum Read: String {
        case bytes = #"bytes {"id":7}"#
        case item = "item 7"
        case words = #"words {"id":7}"#
        case nothing = "nothing"
        case head = "head 200"

        var accept: String { self == .item ? "application/json" : "*/*" }
    }

    /// A call, and the request and the value that it stands for.
    private struct Row {
        let sent: Sent
        let read: Read
        var query: String? = "q=1"
        let call: () async throws -> String

        init(_ sent: Sent, _ read: Read, query: String? = "q=1", _ call: @escaping () async throws -> String) {
            (self.sent, self.read, self.query, self.call) = (sent, read, query, call)
        }
    }

    private let body = RequestBody.data(Data("x".utf8), contentType: "text/plain")

    // The parameters say which type a call has.
    private static func bytes(_ request: Request<Data>) async throws -> String {
        "bytes " + String(decoding: try await request.value(), as: UTF8.self)
    }
    private static func item(_ request: Request<Item>) async throws -> String { "item \(try await request.value().id)" }
    private static func words(_ request: Request<String>) async throws -> String { "words \(try await request.value())" }
    private static func nothing(_ request: Request<Void>) async throws -> String {
        try await request.value()
        return "nothing"
    }
    private static func text(_ response: StreamedResponse) async throws -> String {
        var text = "bytes "
        for try await piece in response.bytes { text += String(decoding: piece, as: UTF8.self) }
        return text
    }

    // MARK: GET and HEAD

    private func gets(_ session: Session, _ url: some URLConvertible) -> [Row] {
        let (q, key) = (q, key)
        return [
            Row(.nothing, .bytes) { try await Self.bytes(session.get(url, query: ["q": q], headers: ["X-Key": key])) },
            Row(.nothing, .bytes) { try await Self.bytes(session.get(url, query: ["q": q], headers: ["X-Key": key], as: Data.self)) },
            Row(.nothing, .item) { try await Self.item(session.get(url, query: ["q": q], headers: ["X-Key": key], as: Item.self)) },
            Row(.nothing, .words) { try await Self.words(session.get(url, query: ["q": q], headers: ["X-Key": key], as: String.self)) },
            Row(.nothing, .nothing) { try await Self.nothing(session.get(url, query: ["q": q], headers: ["X-Key": key], as: Void.self)) },
            Row(.nothing, .item) {
                try await Self.item(session.get(url, query: ["q": q], headers: ["X-Key": key], decoder: .json(Item.self)))
            },
            Row(.nothing, .words) { try await Self.words(session.get(url, query: ["q": q], headers: ["X-Key": key], decoder: .text)) },
        ]
    }

    // MARK: POST, PUT, PATCH and DELETE

    private func plain(_ verb: Session.Verb, _ url: some URLConvertible) -> [Row] {
        let (q, key, body) = (q, key, body)
        return [
            Row(.nothing, .bytes) { try await Self.bytes(verb(url, query: ["q": q], headers: ["X-Key": key])) },
            Row(.nothing, .item) { try await Self.item(verb(url, query: ["q": q], headers: ["X-Key": key], as: Item.self)) },
            Row(.nothing, .nothing) { try await Self.nothing(verb(url, query: ["q": q], headers: ["X-Key": key], as: Void.self)) },
            Row(.nothing, .words) { try await Self.words(verb(url, query: ["q": q], headers: ["X-Key": key], decoder: .text)) },
            Row(.bytes, .bytes) { try await Self.bytes(verb(url, query: ["q": q], headers: ["X-Key": key], body: body)) },
            Row(.bytes, .item) { try await Self.item(verb(url, query: ["q": q], headers: ["X-Key": key], body: body, as: Item.self)) },
            Row(.bytes, .nothing) {
                try await Self.nothing(verb(url, query: ["q": q], headers: ["X-Key": key], body: body, as: Void.self))
            },
            Row(.bytes, .item) {
                try await Self.item(verb(url, query: ["q": q], headers: ["X-Key": key], body: body, decoder: .json(Item.self)))
            },
        ]
    }

    private func values(_ verb: Session.Verb, _ url: some URLConvertible) -> [Row] {
        let (q, key, item) = (q, key, Item(id: id))
        return [
            Row(.json, .bytes) { try await Self.bytes(verb(url, query: ["q": q], headers: ["X-Key": key], json: item)) },
            Row(.json, .item) { try await Self.item(verb(url, query: ["q": q], headers: ["X-Key": key], json: item, as: Item.self)) },
            Row(.json, .words) { try await Self.words(verb(url, query: ["q": q], headers: ["X-Key": key], json: item, as: String.self)) },
            Row(.json, .nothing) { try await Self.nothing(verb(url, query: ["q": q], headers: ["X-Key": key], json: item, as: Void.self)) },
            Row(.json, .item) {
                try await Self.item(verb(url, query: ["q": q], headers: ["X-Key": key], json: item, decoder: .json(Item.self)))
            },
        ]
    }

    private func literals(_ verb: Session.Verb, _ url: some URLConvertible) -> [Row] {
        let (q, key, id) = (q, key, id)
        return [
            Row(.json, .bytes) { try await Self.bytes(verb(url, query: ["q": q], headers: ["X-Key": key], json: ["id": id])) },
            Row(.json, .item) { try await Self.item(verb(url, query: ["q": q], headers: ["X-Key": key], json: ["id": id], as: Item.self)) },
            Row(.json, .nothing) {
                try await Self.nothing(verb(url, query: ["q": q], headers: ["X-Key": key], json: ["id": id], as: Void.self))
            },
            Row(.json, .item) {
                try await Self.item(verb(url, query: ["q": q], headers: ["X-Key": key], json: ["id": id], decoder: .json(Item.self)))
            },
            Row(.other(type: "application/json", body: #"{"id":7,"name":"k","tags":["a"]}"#), .words) {
                try await Self.words(
                    verb(url, query: ["q": q], headers: ["X-Key": key], json: ["id": id, "name": key, "tags": ["a"]], decoder: .text))
            },
        ]
    }

    private func forms(_ verb: Session.Verb, _ url: some URLConvertible) -> [Row] {
        let (q, key, id, missing) = (q, key, id, missing)
        return [
            Row(.form, .bytes) { try await Self.bytes(verb(url, query: ["q": q], headers: ["X-Key": key], form: ["id": id])) },
            Row(.form, .item) {
                try await Self.item(verb(url, query: ["q": q], headers: ["X-Key": key], form: ["id": id, "by": missing], as: Item.self))
            },
            Row(.form, .nothing) {
                try await Self.nothing(verb(url, query: ["q": q], headers: ["X-Key": key], form: ["id": id], as: Void.self))
            },
            Row(.form, .item) {
                try await Self.item(verb(url, query: ["q": q], headers: ["X-Key": key], form: ["id": id], decoder: .json(Item.self)))
            },
        ]
    }

    // MARK: Any method

    private static let report = HTTPRequest.Method("REPORT") ?? .options

    private func plain(_ session: Session, _ url: some URLConvertible) -> [Row] {
        let (q, key, body, report) = (q, key, body, Self.report)
        return [
            Row(.nothing, .bytes) { try await Self.bytes(session.request(url, method: report, query: ["q": q], headers: ["X-Key": key])) },
            Row(.nothing, .item) {
                try await Self.item(session.request(url, method: report, query: ["q": q], headers: ["X-Key": key], as: Item.self))
            },
            Row(.nothing, .nothing) {
                try await Self.nothing(session.request(url, method: report, query: ["q": q], headers: ["X-Key": key], as: Void.self))
            },
            Row(.nothing, .words) {
                try await Self.words(session.request(url, method: report, query: ["q": q], headers: ["X-Key": key], decoder: .text))
            },
            Row(.bytes, .bytes) {
                try await Self.bytes(session.request(url, method: report, query: ["q": q], headers: ["X-Key": key], body: body))
            },
            Row(.bytes, .item) {
                try await Self.item(
                    session.request(url, method: report, query: ["q": q], headers: ["X-Key": key], body: body, as: Item.self))
            },
            Row(.bytes, .nothing) {
                try await Self.nothing(
                    session.request(url, method: report, query: ["q": q], headers: ["X-Key": key], body: body, as: Void.self))
            },
            Row(.bytes, .words) {
                try await Self.words(
                    session.request(url, method: report, query: ["q": q], headers: ["X-Key": key], body: body, decoder: .text))
            },
        ]
    }

    private func documents(_ session: Session, _ url: some URLConvertible) -> [Row] {
        let (q, key, id, item, report) = (q, key, id, Item(id: id), Self.report)
        return [
            Row(.json, .bytes) {
                try await Self.bytes(session.request(url, method: report, query: ["q": q], headers: ["X-Key": key], json: item))
            },
            Row(.json, .item) {
                try await Self.item(
                    session.request(url, method: report, query: ["q": q], headers: ["X-Key": key], json: item, as: Item.self))
            },
            Row(.json, .nothing) {
                try await Self.nothing(
                    session.request(url, method: report, query: ["q": q], headers: ["X-Key": key], json: item, as: Void.self))
            },
            Row(.json, .words) {
                try await Self.words(
                    session.request(url, method: report, query: ["q": q], headers: ["X-Key": key], json: item, decoder: .text))
            },
            Row(.json, .bytes) {
                try await Self.bytes(session.request(url, method: report, query: ["q": q], headers: ["X-Key": key], json: ["id": id]))
            },
            Row(.json, .item) {
                try await Self.item(
                    session.request(url, method: report, query: ["q": q], headers: ["X-Key": key], json: ["id": id], as: Item.self))
            },
            Row(.json, .nothing) {
                try await Self.nothing(
                    session.request(url, method: report, query: ["q": q], headers: ["X-Key": key], json: ["id": id], as: Void.self))
            },
            Row(.json, .words) {
                try await Self.words(
                    session.request(url, method: report, query: ["q": q], headers: ["X-Key": key], json: ["id": id], decoder: .text))
            },
        ]
    }

    private func forms(_ session: Session, _ url: some URLConvertible) -> [Row] {
        let (q, key, id, report) = (q, key, id, Self.report)
        return [
            Row(.form, .bytes) {
                try await Self.bytes(session.request(url, method: report, query: ["q": q], headers: ["X-Key": key], form: ["id": id]))
            },
            Row(.form, .item) {
                try await Self.item(
                    session.request(url, method: report, query: ["q": q], headers: ["X-Key": key], form: ["id": id], as: Item.self))
            },
            Row(.form, .nothing) {
                try await Self.nothing(
                    session.request(url, method: report, query: ["q": q], headers: ["X-Key": key], form: ["id": id], as: Void.self))
            },
            Row(.form, .words) {
                try await Self.words(
                    session.request(url, method: report, query: ["q": q], headers: ["X-Key": key], form: ["id": id], decoder: .text))
            },
            Row(.form, .item, query: nil) {
                try await Self.item(
                    session.request(url, method: report, parameters: ["id": id], by: .form, headers: ["X-Key": key], as: Item.self))
            },
            Row(.form, .nothing, query: nil) {
                try await Self.nothing(
                    session.request(url, method: report, parameters: ["id": id], by: .form, headers: ["X-Key": key], as: Void.self))
            },
            Row(.json, .words, query: nil) {
                try await Self.words(
                    session.request(url, method: report, parameters: ["id": id], by: .json, headers: ["X-Key": key], decoder: .text))
            },
        ]
    }

    // MARK: Streams, and send

    private func streams(_ session: Session, _ url: some URLConvertible) -> [Row] {
        let (q, key, id, body) = (q, key, id, body)
        return [
            Row(.bytes, .bytes) {
                try await Self.text(session.stream(url, method: .post, query: ["q": q], headers: ["X-Key": key], body: body))
            },
            Row(.json, .bytes) { try await Self.text(session.stream(url, query: ["q": q], headers: ["X-Key": key], json: Item(id: id))) },
            Row(.json, .bytes) { try await Self.text(session.stream(url, query: ["q": q], headers: ["X-Key": key], json: ["id": id])) },
            Row(.form, .bytes) { try await Self.text(session.stream(url, query: ["q": q], headers: ["X-Key": key], form: ["id": id])) },
            Row(.bytes, .bytes) {
                let response = try await session.send(url, method: .post, query: ["q": q], headers: ["X-Key": key], body: body)
                return "bytes " + response.text
            },
        ]
    }

    // MARK: Uploads

    private func uploads(_ session: Session, _ url: some URLConvertible, _ source: some Session.UploadSource, _ sent: Sent) -> [Row] {
        let (q, key) = (q, key)
        return [
            Row(sent, .bytes) { try await Self.bytes(session.upload(url, from: source, query: ["q": q], headers: ["X-Key": key])) },
            Row(sent, .item) {
                try await Self.item(session.upload(url, from: source, query: ["q": q], headers: ["X-Key": key], as: Item.self))
            },
            Row(sent, .nothing) {
                try await Self.nothing(session.upload(url, from: source, query: ["q": q], headers: ["X-Key": key], as: Void.self))
            },
            Row(sent, .words) {
                try await Self.words(session.upload(url, from: source, query: ["q": q], headers: ["X-Key": key], decoder: .text))
            },
            Row(.other(type: "text/csv", body: sent.body), .item) {
                try await Self.item(
                    session.upload(url, from: source, contentType: "text/csv", query: ["q": q], headers: ["X-Key": key], as: Item.self))
            },
        ]
    }

    private func sequences(_ session: Session, _ url: some URLConvertible, _ pieces: AsyncPieces, _ sent: Sent) -> [Row] {
        let (q, key, length) = (q, key, Int64(sent.body.utf8.count))
        return [
            Row(sent, .bytes) { try await Self.bytes(session.upload(url, from: pieces, query: ["q": q], headers: ["X-Key": key])) },
            Row(sent, .item) {
                try await Self.item(
                    session.upload(url, from: pieces, length: length, query: ["q": q], headers: ["X-Key": key], as: Item.self))
            },
            Row(sent, .nothing) {
                try await Self.nothing(session.upload(url, from: pieces, query: ["q": q], headers: ["X-Key": key], as: Void.self))
            },
            Row(sent, .words) {
                try await Self.words(session.upload(url, from: pieces, query: ["q": q], headers: ["X-Key": key], decoder: .text))
            },
            Row(.other(type: "text/csv", body: sent.body), .item) {
                try await Self.item(
                    session.upload(url, from: pieces, contentType: "text/csv", query: ["q": q], headers: ["X-Key": key], as: Item.self))
            },
        ]
    }

    // MARK: Running them

    /// A server that answers every method of `/api/a` with an item, and a session with `/api/` as its base.
    private func withAPI(_ test: (House, Session, URL) async throws -> Void) async throws {
        try await withHouse { house async throws in
            house.server.on("/api/a") { request in request.method == "HEAD" ? .ok() : .json(#"{"id":7}"#) }
            let session = house.session.with { $0.baseURL = house.url("/api/") }
            try await test(house, session, try #require(URL(string: house.url("/api/a"))))
        }
    }

    /// Sends each row, and compares value and request.
    private func check(_ rows: some Sequence<Row>, _ method: String, at house: House) async throws {
        for (number, row) in rows.enumerated() {
            let before = house.server.requests.count
            let value = try await row.call()
            #expect(value == row.read.rawValue, "\(method), row \(number)")
            let seen = house.server.requests.dropFirst(before).map { request in
                [
                    request.method, request.path, request.query ?? "-", request["x-key"] ?? "-", request["accept"] ?? "*/*",
                    request["content-type"] ?? "-", request.text,
                ]
            }
            let wanted = [method, "/api/a", row.query ?? "-", "k", row.read.accept, row.sent.type ?? "-", row.sent.body]
            #expect(seen == [wanted], "\(method), row \(number)")
        }
    }

    @Test func getHasEveryForm() async throws {
        try await withAPI { house, session, url async throws in
            try await check(gets(session, "a") + gets(session, "a"[...]) + gets(session, url), "GET", at: house)
        }
    }

    @Test func headHasEveryForm() async throws {
        try await withAPI { house, session, url async throws in
            let (q, key) = (q, key)
            let rows = [
                Row(.nothing, .head) { "head \(try await session.head("a", query: ["q": q], headers: ["X-Key": key]).value().status)" },
                Row(.nothing, .head) { "head \(try await session.head(url, query: ["q": q], headers: ["X-Key": key]).value().status)" },
            ]
            try await check(rows, "HEAD", at: house)
        }
    }

    @Test(arguments: ["POST", "PUT", "PATCH", "DELETE"]) func verbsWithABodyHaveEveryForm(_ method: String) async throws {
        try await withAPI { house, session, url async throws in
            let verbs = ["POST": session.post, "PUT": session.put, "PATCH": session.patch, "DELETE": session.delete]
            let verb = try #require(verbs[method])
            try await check(plain(verb, "a") + plain(verb, url), method, at: house)
            try await check(values(verb, "a") + values(verb, url), method, at: house)
            try await check(literals(verb, "a") + literals(verb, url), method, at: house)
            try await check(forms(verb, "a") + forms(verb, url), method, at: house)
        }
    }

    @Test func anyMethodHasEveryForm() async throws {
        try await withAPI { house, session, url async throws in
            try await check(plain(session, "a") + plain(session, url), "REPORT", at: house)
            try await check(documents(session, "a") + documents(session, url), "REPORT", at: house)
            try await check(forms(session, "a") + forms(session, url), "REPORT", at: house)
        }
    }

    @Test func streamsHaveEveryForm() async throws {
        try await withAPI { house, session, url async throws in
            try await check(streams(session, "a") + streams(session, url), "POST", at: house)
            let (q, key) = (q, key)
            let rows = [
                Row(.nothing, .bytes) { try await Self.text(session.stream("a", query: ["q": q], headers: ["X-Key": key])) },
                Row(.nothing, .bytes) { try await Self.text(session.stream(url, query: ["q": q], headers: ["X-Key": key])) },
            ]
            try await check(rows, "GET", at: house)
        }
    }

    @Test func downloadsHaveEveryForm() async throws {
        let folder = TemporaryFolder()
        try await withAPI { house, session, url async throws in
            let (q, key) = (q, key)
            let file = URL(filePath: folder.path + "/a")
            func bytes(_ file: URL) throws -> String { "bytes " + String(decoding: try Data(contentsOf: file), as: UTF8.self) }
            let rows = [
                Row(.nothing, .bytes) {
                    try bytes(await session.download("a", to: file, query: ["q": q], headers: ["X-Key": key]).value())
                },
                Row(.nothing, .bytes) {
                    try bytes(await session.download(url, to: file, query: ["q": q], headers: ["X-Key": key]).value())
                },
            ]
            try await check(rows, "GET", at: house)
            let report = Row(.other(type: "application/json", body: #"{"q":"sea"}"#), .bytes) {
                let body = RequestBody.json(["q": "sea"])
                return try bytes(
                    await session.download("a", to: file, method: .post, query: ["q": q], headers: ["X-Key": key], body: body).value())
            }
            try await check([report], "POST", at: house)
            #expect(folder.names == ["a"])
        }
    }

    @Test func uploadsHaveEveryForm() async throws {
        let folder = TemporaryFolder()
        let file = URL(filePath: folder.write("sea", to: "sea.jpg"))
        var form = MultipartForm()
        form.add("sea", name: "title")
        var written = Data()
        try await form.write { written.append($0) }
        try await withAPI { [form, written] house, session, url async throws in
            let (bytes, pieces) = (Data("sea".utf8), AsyncPieces([Data("se".utf8), Data("a".utf8)]))
            try await check(uploads(session, "a", bytes, .other(type: nil, body: "sea")), "POST", at: house)
            try await check(uploads(session, url, bytes, .other(type: nil, body: "sea")), "POST", at: house)
            try await check(uploads(session, "a", file, .other(type: "image/jpeg", body: "sea")), "POST", at: house)
            try await check(uploads(session, url, file, .other(type: "image/jpeg", body: "sea")), "POST", at: house)
            try await check(sequences(session, "a", pieces, .other(type: nil, body: "sea")), "POST", at: house)
            try await check(sequences(session, url, pieces, .other(type: nil, body: "sea")), "POST", at: house)
            let sent = Sent.other(type: form.contentType, body: String(decoding: written, as: UTF8.self))
            // A form has a type of its own, which its boundary is in.
            try await check(uploads(session, "a", form, sent).dropLast(), "POST", at: house)
            try await check(uploads(session, url, form, sent).dropLast(), "POST", at: house)
            let put = Row(.other(type: "image/jpeg", body: "sea"), .item) { [q, key] in
                try await Self.item(
                    session.upload("a", from: file, method: .put, query: ["q": q], headers: ["X-Key": key], as: Item.self))
            }
            try await check([put], "PUT", at: house)
        }
    }
}
