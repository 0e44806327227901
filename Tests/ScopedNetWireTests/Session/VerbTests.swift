import CleanSlate
import Foundation
import HTTPTypes
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// Verbs with parameters and bodies, by what the server saw: REQ-7, REQ-17, REQ-18, REQ-19, MP-1, MP-7, MP-10.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1)))
struct VerbTests {
    private struct Item: Codable, Sendable, Equatable { var id: Int }

    private func withAPI(
        _ path: String = "/api/", _ change: @Sendable (inout Session.Configuration) -> Void = { _ in }, _ body: (House) async throws -> Void
    ) async throws {
        let server = LoopbackServer()
        try await server.start()
        var configuration = Session.Configuration(agent: RequestAgent())
        configuration.proxy = .none
        configuration.baseURL = server.url + path
        change(&configuration)
        let house = House(server: server, session: Session(configuration: configuration))
        do {
            try await body(house)
        } catch {
            await server.stop()
            throw error
        }
        await house.agent.waitUntilIdle()
        await server.stop()
    }

    @Test func settingAFieldAnewTakesItsMistakeAway() {
        var fields: HeaderFields = ["X-Key": "a\r\nb", "a b": "c"]
        #expect(fields.refusal?.message.contains("X-Key") == true)
        fields["x-key"] = "fine"
        #expect(fields.refusal?.message.contains("a b") == true)
        fields["a b"] = nil
        #expect(fields.refusal == nil && fields["X-Key"] == "fine" && !fields.isEmpty)
        fields["X-Key"] = "a\nb"
        #expect(fields.refusal != nil)
    }

    @Test func settingAFieldOfARequestAnewTakesItsMistakeAway() async throws {
        try await withAPI { house in
            house.server.on("/api/a", .ok())
            _ = try await house.session.get("a", headers: ["X-Key": "a\r\nb"]).header("x-key", "one").value()
            _ = try await house.session.get("a").header("X-Key", "a\nb").header("X-Key", "two").value()
            #expect(house.server.requests.map { $0["x-key"] } == ["one", "two"])
            let error = try await house.session.get("a", headers: ["a b": "c"]).header("X-Key", "three").header("X-Key", "a\nb").failure()
            #expect(error.code == .invalidHeader && error.message.contains("a b"))
        }
    }

    @Test func aFieldOfARequestReplacesARefusedOneOfTheSession() async throws {
        try await withAPI { house in
            house.server.on("/api/a", .ok())
            let session = house.session.with { $0.headers["X-Key"] = "a\nb" }
            #expect(try await session.get("a").failure().code == .invalidHeader)
            #expect(try await session.get("a", headers: ["X-Other": "b"]).failure().code == .invalidHeader)
            _ = try await session.get("a", headers: ["x-key": "one"]).value()
            _ = try await session.get("a").header("X-Key", "two").value()
            #expect(house.server.requests.map { $0["x-key"] } == ["one", "two"])
        }
    }

    // REQ-18, REQ-19
    @Test func aQueryGoesToTheBaseURL() async throws {
        try await withAPI { house in
            house.server.on("/api/items", .json(#"[{"id":1}]"#))
            let items = try await house.session.get("items", query: ["tags": ["a b", "c"], "page": 2], as: [Item].self).value()
            let data = try await house.session.get("items?x=1#f", query: ["a": ParameterValue.null]).value()
            let sent = try await house.session.send("/api/items", query: [:])
            #expect(items == [Item(id: 1)] && data == Data(#"[{"id":1}]"#.utf8) && sent.status == 200)
            let seen = house.server.requests
            #expect(seen.map(\.query) == ["page=2&tags%5B%5D=a%20b&tags%5B%5D=c", "x=1&a", nil])
            #expect(seen.map { $0["accept"] ?? "*/*" } == ["application/json", "*/*", "*/*"])
        }
    }

    // REQ-19
    @Test func eachVerbIsThere() async throws {
        try await withAPI { house in
            house.server.on("/api/a") { request in request.method == "HEAD" ? .ok() : .json(#"{"id":7}"#) }
            let session = house.session
            let body = RequestBody.json(Item(id: 7))
            let post = try await session.post("a", query: ["q": 1], body: body, as: Item.self).value()
            let put = try await session.put("a", body: body, as: Item.self).value()
            let patch = try await session.patch("a", body: body, as: Item.self).value()
            let head = try await session.head("a", query: ["q": 2]).value()
            _ = try await session.delete("a", query: ["q": 3]).value()
            _ = try await session.post("a").value()
            #expect([post, put, patch] == [Item(id: 7), Item(id: 7), Item(id: 7)] && head.status == 200)
            let seen = house.server.requests
            #expect(seen.map(\.method) == ["POST", "PUT", "PATCH", "HEAD", "DELETE", "POST"])
            #expect(seen.map { $0.query ?? "" } == ["q=1", "", "", "q=2", "q=3", ""])
            #expect(seen.map { $0["content-type"] ?? "" } == ["application/json", "application/json", "application/json", "", "", ""])
            #expect(seen[0].text == #"{"id":7}"#)
        }
    }

    /// Each verb with each body and each kind of value, by a relative text and by a `URL`.
    @Test func eachFormIsThere() async throws {
        try await withAPI { house in
            house.server.on("/api/a") { request in .json(request.text.hasPrefix("{") ? request.text : #"{"id":7}"#) }
            let url = try #require(URL(string: house.url("/api/a")))
            let (id, name, missing) = (7, "K", String?.none)
            let verbs: [(Session.Verb, String)] = [
                (house.session.post, "POST"), (house.session.put, "PUT"), (house.session.patch, "PATCH"), (house.session.delete, "DELETE"),
            ]
            for (verb, method) in verbs {
                let before = house.server.requests.count
                #expect(try await verb("a").value() == Data(#"{"id":7}"#.utf8))
                #expect(try await verb(url, body: .json(Item(id: 7)), as: Item.self).value() == Item(id: 7))
                try await verb("a", body: .data(Data("x".utf8)), as: Void.self).value()
                #expect(try await verb("a", body: nil, decoder: .json(Item.self)).value() == Item(id: 7))
                #expect(try await verb(url, json: Item(id: 7)).value() == Data(#"{"id":7}"#.utf8))
                #expect(try await verb("a", json: Item(id: 7), as: Item.self).value() == Item(id: 7))
                try await verb("a", json: Item(id: 7), as: Void.self).value()
                #expect(try await verb("a", json: Item(id: 7), decoder: .text).value() == #"{"id":7}"#)
                #expect(try await verb("a", json: ["id": id, "name": name, "none": missing], as: Item.self).value() == Item(id: 7))
                try await verb(url, json: ["id": id, "name": name], as: Void.self).value()
                #expect(try await verb("a", json: ["id": id, "name": name], decoder: .json(Item.self)).value() == Item(id: 7))
                #expect(try await verb("a", form: ["id": id, "name": name, "none": missing], as: Item.self).value() == Item(id: 7))
                try await verb("a", form: ["id": id], as: Void.self).value()
                #expect(try await verb(url, form: ["id": id], decoder: .json(Item.self)).value() == Item(id: 7))
                let seen = house.server.requests[before...]
                #expect(seen.allSatisfy { $0.method == method && $0.path == "/api/a" })
                let (json, form) = ("application/json", "application/x-www-form-urlencoded")
                #expect(
                    seen.map { $0["content-type"] ?? "" } == [
                        "", json, "", "", json, json, json, json, json, json, json, form, form, form,
                    ])
                #expect(seen.map { $0["accept"] ?? "*/*" }.filter { $0 == json }.count == 7)
                #expect(seen.map(\.text).suffix(3) == ["id=7&name=K", "id=7", "id=7"])
            }
        }
    }

    @Test func aRequestOfAnyMethodHasTheSameForms() async throws {
        try await withAPI { house in
            house.server.on("/api/a") { request in .json(request.text.hasPrefix("{") ? request.text : #"{"id":7}"#) }
            let (session, id) = (house.session, 7)
            let purge = try #require(HTTPRequest.Method("PURGE"))
            #expect(try await session.request("a").value() == Data(#"{"id":7}"#.utf8))
            #expect(try await session.request("a", method: purge, query: ["q": id], as: Item.self).value() == Item(id: 7))
            try await session.request("a", method: purge, as: Void.self).value()
            #expect(try await session.request("a", method: .put, json: Item(id: 7), as: Item.self).value() == Item(id: 7))
            #expect(try await session.request("a", method: .put, json: ["id": id], as: Item.self).value() == Item(id: 7))
            #expect(try await session.request("a", method: .post, form: ["id": id], decoder: .json(Item.self)).value() == Item(id: 7))
            #expect(house.server.requests.map(\.method) == ["GET", "PURGE", "PURGE", "PUT", "PUT", "POST"])
            #expect(house.server.requests[1].query == "q=7")
        }
    }

    /// `Data` and `String` are the body; a JSON value of these types is asked for by its decoder.
    @Test func theTypeOfTheValueSaysHowItIsRead() async throws {
        try await withAPI { house in
            house.server.on("/api/text", .json(#""aGk=""#))
            let session = house.session
            #expect(try await session.get("text").value() == Data(#""aGk=""#.utf8))
            #expect(try await session.get("text", as: Data.self).value() == Data(#""aGk=""#.utf8))
            #expect(try await session.get("text", as: String.self).value() == #""aGk=""#)
            #expect(try await session.get("text", as: JSONValue.self).value() == .string("aGk="))
            #expect(try await session.get("text", decoder: .json(String.self)).value() == "aGk=")
            #expect(try await session.get("text", decoder: .json(Data.self)).value() == Data("hi".utf8))
            try await session.get("text", as: Void.self).value()
            let accepted = house.server.requests.map { $0["accept"] ?? "*/*" }
            #expect(accepted == ["*/*", "*/*", "*/*", "application/json", "application/json", "application/json", "*/*"])
        }
    }

    /// The caller's `Accept` stays, whether it is the request's or the session's.
    @Test func theCallersAcceptStays() async throws {
        try await withAPI("/api/") {
            $0.headers[.accept] = "application/vnd.api+json"
        } _: { house in
            house.server.on("/api/a", .json(#"{"id":7}"#))
            _ = try await house.session.get("a", as: Item.self).value()
            _ = try await house.session.get("a", headers: ["Accept": "text/json"], as: Item.self).value()
            #expect(house.server.requests.map { $0["accept"] } == ["application/vnd.api+json", "text/json"])
        }
    }

    /// Names as text or standard ones, values that may be missing; what is no field fails the run.
    @Test func headersAreWrittenByNameOrByText() async throws {
        try await withAPI { house in
            house.server.on("/api/a", .ok())
            let (key, tag) = ("s3", String?.none)
            _ = try await house.session.get("a", headers: ["X-Key": key, .accept: "text/plain", "If-None-Match": tag]).value()
            var fields = HeaderFields([(key: "X-A", value: "1")])
            fields.append("X-A", "2")
            fields[.acceptLanguage] = "de"
            _ = try await house.session.post("a", headers: fields, json: ["a": 1]).value()
            let seen = house.server.requests
            #expect(seen[0]["x-key"] == "s3" && seen[0]["accept"] == "text/plain" && seen[0]["if-none-match"] == nil)
            #expect(seen[1].headers[all: "x-a"] == ["1", "2"] && seen[1]["accept-language"] == "de")
            for headers: HeaderFields in [["X Key": "v"], ["": "v"], ["X-Key": "a\r\nB: c"], ["X-Key": "\0"]] {
                let error = try await house.session.get("a", headers: headers).failure()
                #expect(error.code == .invalidHeader && error.url?.hasSuffix("a") == true, "\(error)")
            }
            #expect(house.server.requests.count == 2)
        }
    }

    @Test func downloadsAndStreamsTakeAQuery() async throws {
        try await withAPI { house in
            house.server.on("/api/a") { .ok($0.query ?? "") }
            let folder = TemporaryFolder()
            let url = try #require(URL(string: house.url("/api/a")))
            let file = try await house.session.download(url, to: URL(filePath: folder.path + "/a"), query: ["q": 1], headers: ["X-A": "1"])
                .value()
            #expect(try Data(contentsOf: file) == Data("q=1".utf8))
            var text = ""
            for try await piece in try await house.session.stream(url, query: ["q": 2], headers: ["X-A": "2"]).bytes {
                text += String(decoding: piece, as: UTF8.self)
            }
            let stream = try await house.session.stream("a", query: ["q": 3], json: ["n": 1])
            for try await piece in stream.bytes { text += String(decoding: piece, as: UTF8.self) }
            #expect(text == "q=2q=3")
            #expect(house.server.requests.map { $0["x-a"] } == ["1", "2", nil])
            #expect(house.server.requests.map(\.method) == ["GET", "GET", "POST"] && house.server.requests[2].text == #"{"n":1}"#)
        }
    }

    // REQ-7, REQ-19: what the request says goes before what the body says, and the session's fields, too.
    @Test func aTypeOfTheRequestGoesFirst() async throws {
        try await withAPI { house in
            house.server.on("/api/a", .ok())
            _ = try await house.session.post("a", body: .form(["a": "b c"])).value()
            _ = try await house.session.post("a", headers: [.contentType: "text/x"], body: .form([:])).value()
            var form = MultipartForm()
            form.add("v", name: "n")
            _ = try await house.session.post("a", headers: [.contentType: "text/x"], body: .multipart(form)).value()
            let seen = house.server.requests
            #expect(seen.map { $0["content-type"] } == ["application/x-www-form-urlencoded", "text/x", form.contentType])
            #expect(seen.map { $0["content-length"] } == ["7", "0", "\(form.contentLength ?? 0)"])
            #expect(seen[0].text == "a=b%20c")
        }
    }

    // REQ-3, REQ-19: between the two come the session's fields; the form's own type goes before them as well (MP-7).
    @Test func aTypeOfTheSessionGoesBeforeTheBodys() async throws {
        try await withAPI("/api/") {
            $0.headers[.contentType] = "text/session"
        } _: { house in
            house.server.on("/api/a", .ok())
            var form = MultipartForm()
            form.add("v", name: "n")
            _ = try await house.session.post("a", body: .form(["a": "b"])).value()
            _ = try await house.session.post("a", headers: [.contentType: "text/x"], body: .form(["a": "b"])).value()
            _ = try await house.session.post("a", body: .multipart(form)).value()
            let (seen, own) = (house.server.requests.map { $0["content-type"] ?? "-" }, form.contentType)
            #expect(seen == ["text/session", "text/x", own])
        }
    }

    // REQ-18: as RFC 3986 has it, and not as if a slash had been forgotten.
    @Test func aBaseWithoutASlashLosesItsLastSegment() async throws {
        try await withAPI("/api/v1") { house in
            house.server.on("/*", .ok())
            for url in ["items", "./v2/items", "/items", "", "?q=1"] { _ = try await house.session.send(url) }
            let seen = house.server.requests.map { $0.target }
            #expect(seen == ["/api/items", "/api/v2/items", "/items", "/api/v1", "/api/v1?q=1"])
        }
    }

    // REQ-7, REQ-10
    @Test func parametersGoWhereTheMethodWantsThem() async throws {
        try await withAPI { house in
            house.server.on("/api/a", .ok())
            for method in [HTTPRequest.Method.get, .delete, .post, .put] {
                _ = try await house.session.request("a", method: method, parameters: ["k": 1], by: .json).value()
            }
            let seen = house.server.requests
            #expect(seen.map { $0.query ?? "" } == ["k=1", "k=1", "", ""])
            #expect(seen.map(\.text) == ["", "", #"{"k":1}"#, #"{"k":1}"#])
        }
    }

    // REQ-1, REQ-8, MP-1: an ordinary failure of the run, and nothing is sent.
    @Test func whatCannotBeWrittenIsAFailure() async throws {
        try await withAPI { house in
            var form = MultipartForm()
            form.add("v", name: "n")
            let session = house.session
            let requests = [
                session.get("a", query: ["x": Double.nan]), session.post("a", body: .json(Double.infinity)),
                session.request("a", method: .post, parameters: ["x": ParameterValue.set([1])], by: .json),
            ]
            for request in requests {
                let error = await #expect(throws: NetworkError.self) { try await request.value() }
                #expect(error?.code == .invalidParameters && error?.phase == .preparing)
            }
            let error = await #expect(throws: NetworkError.self) {
                try await session.request("a", body: .multipart(form)).value()
            }
            #expect(error?.code == .invalidOption && house.server.requests.isEmpty)
        }
    }

    // REQ-16, REQ-20: its error ends the run, is kept, and nothing is sent.
    @Test func anErrorOfAQueryOfOnesOwnEndsTheRun() async throws {
        struct Mine: Error {}
        try await withAPI { house in
            var serializer = ParameterSerializer.form
            serializer.query = .custom { _ in throw Mine() }
            for method in [HTTPRequest.Method.get, .post] {
                let request = house.session.request("a", method: method, parameters: ["k": 1], by: serializer)
                let error = await #expect(throws: NetworkError.self) { try await request.value() }
                #expect(error?.code == .invalidParameters && error?.underlying is Mine)
            }
            #expect(house.server.requests.isEmpty)
        }
    }

    // MP-7, MP-10: a redirect that keeps the body gets the same bytes again.
    @Test func aRedirectGetsTheFormAgain() async throws {
        let folder = try PartFolder()
        let file = try folder.file("a.bin", Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }))
        try await withAPI { house in
            house.server.on("/api/old", .redirect(to: "/api/new", status: 307))
            house.server.on("/api/new", .ok())
            var form = MultipartForm()
            form.add("Holidays", name: "title")
            try form.add(file: file, name: "photo")
            _ = try await house.session.post("old", body: .multipart(form)).value()
            var expected = Data()
            try await form.write { expected.append($0) }
            let seen = try #require(house.server.requests.last)
            #expect(seen.path == "/api/new" && seen.body == Array(expected) && seen["content-type"] == form.contentType)
            #expect(seen["content-length"] == "\(expected.count)" && seen["transfer-encoding"] == nil)
        }
    }

    // MP-10, defect 7
    @Test func aFormThatCanBeReadOnceFailsThere() async throws {
        try await withAPI { house in
            house.server.on("/api/old", .redirect(to: "/api/new", status: 307))
            var form = MultipartForm()
            try form.add(PartPieces(["abc"]), length: 3, name: "s")
            let request = house.session.post("old", body: .multipart(form))
            let error = await #expect(throws: NetworkError.self) { try await request.value() }
            #expect(error?.code == .bodyNotReplayable)
        }
    }

    // Defect 7: never a truncated body that looks whole.
    @Test func aPartOfAnotherLengthFailsTheRequest() async throws {
        try await withAPI { house in
            house.server.on("/api/a", .ok())
            var form = MultipartForm()
            try form.add(PartPieces(["abc"]), length: 5, name: "s")
            let request = house.session.post("a", body: .multipart(form))
            let error = await #expect(throws: NetworkError.self) { try await request.value() }
            #expect(error?.code == .bodyStreamFailed && error?.underlying is MultipartForm.BodyFailure)
            #expect(error?.message == "a part ended after 3 of the 5 bytes declared")
        }
    }

    enum Way: CaseIterable, Sendable { case getWithQuery, postForm, putJSON, uploadData, download }

    // REQ-18, REQ-19, YTK-4: nothing depends on the door.
    @Test(arguments: FrontDoor.allCases, Way.allCases)
    func everyDoorSendsTheSame(_ door: FrontDoor, _ way: Way) async throws {
        let folder = TemporaryFolder()
        let file = URL(filePath: folder.path + "/file")
        try await withAPI { house in
            house.server.on("/api/a", .json(#"{"id":7}"#))
            let session = house.session
            let report: DoorReport
            let (value, expected): (String, [String])
            switch way {
            case .getWithQuery:
                report = try await door.send(session.get("a", query: ["q": "a b", "page": 2], as: Item.self))
                (value, expected) = ("\(Item(id: 7))", ["GET", "/api/a", "page=2&q=a%20b", "-", ""])
            case .postForm:
                report = try await door.send(session.post("a", body: .form(["q": "a b", "page": 2]), as: Item.self))
                (value, expected) = ("\(Item(id: 7))", ["POST", "/api/a", "-", "application/x-www-form-urlencoded", "page=2&q=a%20b"])
            case .putJSON:
                report = try await door.send(session.put("a", query: ["x": 1], body: .json(Item(id: 3))))
                (value, expected) = (#"{"id":7}"#, ["PUT", "/api/a", "x=1", "application/json", #"{"id":3}"#])
            case .uploadData:
                report = try await door.send(session.upload("a?x", from: Data("hello".utf8), contentType: "text/plain"))
                (value, expected) = (#"{"id":7}"#, ["POST", "/api/a", "x", "text/plain", "hello"])
            case .download:
                report = try await door.send(session.download("a", to: file))
                (value, expected) = ("\(file)", ["GET", "/api/a", "-", "-", ""])
                #expect(folder.contents(of: "file") == Data(#"{"id":7}"#.utf8))
            }
            #expect(report.outcome == .success(value))
            let seen = house.server.requests.map { [$0.method, $0.path, $0.query ?? "-", $0["content-type"] ?? "-", $0.text] }
            #expect(seen == [expected])
        }
    }
}
