import CleanSlate
import Foundation
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// RES-3, RES-4 and RES-8 on the wire: a type that was not expected is an error with the body in it, and nothing is replaced or stored by it.
@Suite(.leavesNothing) struct ContentTypeWireTests {
    private let portal = ScriptedResponse.ok("<html>log in</html>").typed("text/html")

    @Test func aPortalsPageIsNotTheDocument() async throws {
        try await withHouse { house in
            house.server.on("/a", portal)
            let error = try await failure { try await house.session.get(house.url("/a"), as: [Int].self).value() }
            #expect(error.code == .unacceptableContentType)
            #expect(error.phase == .decoding)
            #expect(error.response?.mimeType == "text/html")
            #expect(error.body == Data("<html>log in</html>".utf8))
            #expect(error.message.contains("text/html"))
            #expect(error.message.contains("`validation.contentTypes`"))
        }
    }

    /// RES-2: who asks for bytes has no wishes about their type.
    @Test func bytesAreOfAnyType() async throws {
        try await withHouse { house in
            for type in ["text/html", "image/png", "nonsense"] {
                house.server.on("/a", portal.typed(type))
                let data = try await house.session.request(house.url("/a")).value()
                #expect(data == Data("<html>log in</html>".utf8))
            }
        }
    }

    @Test func whoKnowsBetterSaysSo() async throws {
        try await withHouse { house in
            house.server.on("/a", .ok("[1]"))
            let value = try await house.session.get(house.url("/a"), as: [Int].self).options { $0.validation.contentTypes = .any }.value()
            #expect(value == [1])
        }
    }

    // YTK-6
    @Test func aStatusThatIsRefusedTooIsTheErrorOnTop() async throws {
        try await withHouse { house in
            house.server.on("/a", portal.with { $0.status = 404 })
            house.server.on("/b", .json("{}").with { $0.status = 404 })
            let both = try await failure { try await house.session.get(house.url("/a"), as: [Int].self).value() }
            #expect(both.code == .unacceptableStatus)
            #expect((both.underlying as? NetworkError)?.code == .unacceptableContentType)
            #expect(both.body == Data("<html>log in</html>".utf8))
            let one = try await failure { try await house.session.get(house.url("/b"), as: [Int].self).value() }
            #expect(one.code == .unacceptableStatus && one.underlying == nil)
        }
    }

    @Test func aDownloadOfAnotherTypeReplacesNothing() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "type-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data("old".utf8).write(to: file)
        try await withHouse { house in
            house.server.on("/a", portal)
            let request = house.session.download(house.url("/a"), to: file).options { $0.validation.contentTypes = .only(["image/*"]) }
            let error = try await failure { try await request.value() }
            #expect(error.code == .unacceptableContentType)
            #expect(error.body == Data("<html>log in</html>".utf8))
            #expect(try Data(contentsOf: file) == Data("old".utf8))
            house.server.on("/a", portal.typed("image/png"))
            _ = try await request.value()
            #expect(try Data(contentsOf: file) == Data("<html>log in</html>".utf8))
        }
    }

    @Test func aStreamOfAnotherTypeIsRefusedAtItsHead() async throws {
        try await withHouse(.init(), { $0.options.validation.contentTypes = .only(["text/event-stream"]) }) { house in
            house.server.on("/a", portal)
            let error = try await failure { try await house.session.stream(house.url("/a")) }
            #expect(error.code == .unacceptableContentType)
        }
    }

    /// What the head decides holds, also where the body then is empty after all.
    @Test func anEmptyStreamThatDidNotSaySoIsRefusedAndHangsNobody() async throws {
        try await withHouse(.init(), { $0.options.validation.contentTypes = .only(["text/event-stream"]) }) { house in
            house.server.on("/a", ScriptedResponse(body: .bytes([])).framed(.chunked))
            let error = try await failure { try await house.session.stream(house.url("/a")) }
            #expect(error.code == .unacceptableContentType)
            house.server.on("/b", ScriptedResponse(body: .bytes([])))
            let stream = try await house.session.stream(house.url("/b"))
            for try await _ in stream.bytes {}
        }
    }

    @Test func anEmptyFileIsOfEveryType() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "empty-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        try await withHouse { house in
            house.server.on("/a", ScriptedResponse(body: .bytes([])))
            _ = try await house.session.download(house.url("/a"), to: file).options { $0.validation.contentTypes = .only(["image/*"]) }
                .value()
            #expect(try Data(contentsOf: file).isEmpty)
        }
    }

    /// With a cache, too, and the error has the page.
    @Test func aDownloadThroughACacheIsRefusedAtItsHead() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "type-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        try await withCache { cached async throws in
            cached.server.on("/", portal.header("Cache-Control", "max-age=60"))
            let request = cached.wire.session.download(cached.wire.url + "/", to: file).options {
                $0.validation.contentTypes = .only(["image/*"])
            }
            let error = try await failure { try await request.value() }
            #expect(error.code == .unacceptableContentType)
            #expect(error.body == Data("<html>log in</html>".utf8))
            #expect(!FileManager.default.fileExists(atPath: file.path))
        }
    }

    /// A refresh beside a stale answer decodes nothing, and is as particular.
    @Test func aRefreshStoresNoPortalsPage() async throws {
        try await withCache { cached async throws in
            cached.server.enqueue(ScriptedResponse.json("[1]").header("Cache-Control", "max-age=0, stale-while-revalidate=60"))
            cached.server.on("/", portal.header("Cache-Control", "max-age=60"))
            let request = cached.wire.session.get(cached.wire.url + "/", as: [Int].self)
            for _ in 0..<3 {
                let value = try await request.value()
                #expect(value == [1])
                await cached.wire.agent.waitUntilIdle()
            }
        }
    }

    @Test func whatWasRefusedIsNotStored() async throws {
        try await withCache { cached async throws in
            cached.server.enqueue(portal.header("Cache-Control", "max-age=60"))
            cached.server.enqueue(ScriptedResponse.json("[1]").header("Cache-Control", "max-age=60"))
            let request = cached.wire.session.get(cached.wire.url + "/", as: [Int].self)
            let error = try await failure { try await request.value() }
            #expect(error.code == .unacceptableContentType)
            for _ in 0..<2 {
                let value = try await request.value()
                #expect(value == [1])
            }
            #expect(cached.server.requests.count == 2)
        }
    }

    // Defect 13
    @Test func anEmptyAnswerIsNothing() async throws {
        try await withHouse { house in
            house.server.on("/a", .status(204))
            let value = try await house.session.get(house.url("/a"), as: [Int]?.self).value()
            #expect(value == nil)
            let error = try await failure { try await house.session.get(house.url("/a"), as: [Int].self).value() }
            #expect(error.code == .decodingFailed)
            #expect(error.underlying is NetworkError.EmptyBody)
        }
    }

    /// RES-3, defect 13: nil where the value has a form for nothing, and else an error. What does not say that it is empty is refused at its head.
    @Test func anEmptyAnswerOfAnotherTypeIsTheDecodersBusiness() async throws {
        try await withHouse { house in
            let empty = portal.with { $0.body = .bytes([]) }
            house.server.on("/a", empty)
            let value = try await house.session.get(house.url("/a"), as: [Int]?.self).value()
            #expect(value == nil)
            let error = try await failure { try await house.session.get(house.url("/a"), as: [Int].self).value() }
            #expect(error.code == .decodingFailed)
            #expect(error.underlying is NetworkError.EmptyBody)
            #expect(error.response?.mimeType == "text/html")

            house.server.on("/b", empty.framed(.chunked))
            let refused = try await failure { try await house.session.get(house.url("/b"), as: [Int].self).value() }
            let refusedToo = try await failure { try await house.session.get(house.url("/b"), as: [Int]?.self).value() }
            #expect(refused.code == .unacceptableContentType && refusedToo.code == .unacceptableContentType)
        }
    }

    private func failure<Value>(_ body: () async throws -> Value) async throws -> NetworkError {
        do { _ = try await body() } catch { return try #require(error as? NetworkError) }
        throw Missing()
    }

    private struct Missing: Error {}
}

extension ScriptedResponse {
    fileprivate func typed(_ type: String) -> ScriptedResponse {
        with { $0.headers = ["Content-Type": type] }
    }
}
