import CleanSlate
import Foundation
import HTTPTypes
import ScopedNet
import Testing

/// Queries, forms, JSON and multipart forms, as Werkzeug reads them.
@Suite(.leavesNothing, .serialized, .enabled(if: Servers.httpbin.http != nil, Servers.whyNoHTTPBin), .timeLimit(.minutes(2)))
struct HTTPBinBodyTests {
    private struct Post: Codable, Sendable, Equatable {
        var id: Int
        var title: String
        var tags: [String]
    }

    private struct PostEcho: Decodable, Sendable { var json: Post }

    private let session = Servers.session()
    private func url(_ path: String) -> String { Servers.httpbinURL + path }

    private let parameters: Parameters = [
        "name": "Zoë \"Z\" O'Hara & Sons", "a+b=c;d": "100% ✓ #1?/",
        "filter": ["tags": ["x", "y"], "range": ["from": 1, "to": 2.5]] as ParameterValue,
        "on": true, "none": ParameterValue.null, "absent": nil, "empty": "", "nothing": [] as [String],
    ]
    /// What a server has of them. A null is a name without a value, and an empty array is not there.
    private let read: [String: JSONValue] = [
        "name": "Zoë \"Z\" O'Hara & Sons", "a+b=c;d": "100% ✓ #1?/", "filter[tags][]": ["x", "y"], "filter[range][from]": "1",
        "filter[range][to]": "2.5", "on": "1", "none": "", "empty": "",
    ]

    private func echo(_ body: RequestBody) async throws -> JSONValue {
        try await session.post(url("/post"), body: body, as: JSONValue.self).value()
    }

    /// A field of the request, as it arrived.
    private func field(_ name: String, _ echo: JSONValue) -> JSONValue? {
        let headers = echo["headers"]
        return headers?[name]
    }

    // MARK: Queries

    @Test func aQueryArrivesAsItWasMeant() async throws {
        let echo = try await session.get(url("/get?first=1%2B1#fragment"), query: parameters, as: JSONValue.self).value()
        let arguments = echo["args"]
        let expected = JSONValue.object(read.merging(["first": "1+1"]) { $1 })
        #expect(arguments == expected)
    }

    @Test func anotherStyleArrivesToo() async throws {
        var style = Parameters.Style()
        style.arrays = .repeated
        style.booleans = .words
        let body = RequestBody.form(["ids": [1, 2], "on": true], query: QuerySerializer(style))
        let form = try await echo(body)["form"]
        #expect(form == ["ids": ["1", "2"], "on": "true"])
    }

    // MARK: Forms and JSON

    @Test func aFormArrivesAsItWasMeant() async throws {
        let echo = try await echo(.form(parameters))
        let (form, data, type) = (echo["form"], echo["data"], field("Content-Type", echo))
        #expect(form == .object(read))
        #expect(data == "")
        #expect(type == "application/x-www-form-urlencoded")
    }

    /// Beyond what a double holds, too.
    @Test func aDocumentArrivesAsItWasWritten() async throws {
        let document: JSONValue = [
            "name": "Zoë \"Z\" \\ / \u{1F600}\n", "list": ["a", nil, 1, -2.5, true, []], "nested": ["deep": ["deeper": [:]]],
            "large": 9_007_199_254_740_993, "": "nameless",
        ]
        let echo = try await echo(.json(document))
        let (json, type) = (echo["json"], field("Content-Type", echo))
        #expect(json == document)
        #expect(type == "application/json")
    }

    @Test func aValueOfOnesOwnArrivesAndComesBack() async throws {
        let post = Post(id: 7, title: "\"quoted\" & more", tags: ["a", "b"])
        let echo = try await session.post(url("/post"), body: .json(post), as: PostEcho.self).value()
        #expect(echo.json == post)
    }

    // MARK: Multipart forms

    /// What is not UTF-8 comes back as a data URL, with the type of its part.
    @Test func aMultipartFormIsTakenApart() async throws {
        let folder = try Folder()
        let notes = "line 1\r\n--Boundary+\r\nline 2\r\n"
        try Data(notes.utf8).write(to: folder.file("notes.txt"))
        var form = MultipartForm()
        form.add("two\r\nlines", name: "say \"hi\" to Zoë")
        try form.add(["list": ["1", "2"], "filter": ["size": 3]])
        try form.add(Data([0xFF, 0, 1]), name: "pixel", fileName: "a \"quoted\" näme.png")
        try form.add(file: folder.file("notes.txt"), name: "notes")
        let echo = try await echo(.multipart(form))
        let (fields, files) = (echo["form"], echo["files"])
        let (type, length) = (field("Content-Type", echo), field("Content-Length", echo))
        let expectedLength = try #require(form.contentLength)
        #expect(fields == ["say \"hi\" to Zoë": "two\r\nlines", "list[]": ["1", "2"], "filter[size]": "3"])
        #expect(files == ["pixel": "data:image/png;base64,/wAB", "notes": .string(notes)])
        #expect(type == .string(form.contentType))
        #expect(length == .string("\(expectedLength)"))
    }

    /// Above a mebibyte a form is streamed from where its parts are.
    @Test func aLargePartArrivesWhole() async throws {
        let folder = try Folder()
        let text = String(repeating: "0123456789abcdef\n", count: 1 << 17)
        try Data(text.utf8).write(to: folder.file("large.txt"))
        var form = MultipartForm()
        try form.add(file: folder.file("large.txt"), name: "large")
        form.add("behind it", name: "last")
        let echo = try await echo(.multipart(form))
        let (fields, files) = (echo["form"], echo["files"])
        // Not printed: it is long.
        let isWhole = files == ["large": .string(text)]
        #expect(isWhole)
        #expect(fields == ["last": "behind it"])
    }

    /// Nobody knows how long a sequence is: the form goes in chunks.
    @Test func aFormOfUnknownLengthArrivesInChunks() async throws {
        let pieces = AsyncStream<Data> { continuation in
            for number in 0..<100 { continuation.yield(Data("line \(number)\n".utf8)) }
            continuation.finish()
        }
        var form = MultipartForm()
        try form.add(pieces, length: nil, name: "log", fileName: "log.txt")
        form.add("behind it", name: "last")
        let echo = try await echo(.multipart(form))
        let (fields, files) = (echo["form"], echo["files"])
        let (coding, length) = (field("Transfer-Encoding", echo), field("Content-Length", echo))
        let log = (0..<100).map { "line \($0)\n" }.joined()
        #expect(fields == ["last": "behind it"])
        #expect(files == ["log": .string(log)])
        #expect(coding == "chunked")
        #expect(length == nil)
    }
}
