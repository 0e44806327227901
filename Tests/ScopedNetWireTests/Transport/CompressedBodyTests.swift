import CleanSlate
import Foundation
import HTTPTypes
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// Compressed request bodies, as the server receives them.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1)))
struct CompressedBodyTests {
    private let folder = TemporaryFolder()
    private let text = Data(String(repeating: "All work and no play makes Jack a dull boy. ", count: 20_000).utf8)

    private func withServer(_ test: (Wire) async throws -> Void) async throws {
        try await withWire { wire async throws in
            wire.server.on("/*", .ok())
            try await test(wire)
        }
    }

    /// - Returns: what the server makes of the body it has received.
    private func received(_ wire: Wire) async throws -> (request: RecordedRequest, body: Data) {
        let request = try await wire.server.takeRequest()
        return (request, try ContentCoding.decoded(Data(request.body), coding: request["content-encoding"] ?? "", limits: .default))
    }

    @Test func bytesAreCompressedAsAWhole() async throws {
        try await withServer { wire async throws in
            let part = text.prefix(100_000)
            _ = try await wire.send(method: "POST", body: .data(part, contentType: "text/plain").compressed())
            let (request, body) = try await received(wire)
            #expect(body == part && request["content-encoding"] == "gzip" && request["content-type"] == "text/plain")
            #expect(request["content-length"] == "\(request.body.count)" && request.body.count < 5_000)
            _ = try await wire.send(method: "POST", body: .data(part.prefix(1_000)).compressed())
            let small = try await wire.server.takeRequest()
            #expect(small["content-encoding"] == nil && small["content-length"] == "1000")
        }
    }

    @Test func longBytesFilesAndSequencesAreCompressedOnTheirWay() async throws {
        let path = folder.write(text, to: "up")
        let pieces = stride(from: 0, to: text.count, by: 70_000).map { text[$0..<min(text.count, $0 + 70_000)] }
        let sequence = AsyncStream<Data> { continuation in
            pieces.forEach { continuation.yield($0) }
            continuation.finish()
        }
        let bodies: [RequestBody] = [.data(text), .file(path), .stream(sequence, length: Int64(text.count))]
        try await withServer { wire async throws in
            for body in bodies {
                _ = try await wire.send(method: "PUT", body: body.compressed())
                let (request, body) = try await received(wire)
                #expect(body.isSame(as: text) && request["content-encoding"] == "gzip" && request["transfer-encoding"] == "chunked")
                #expect(request["content-length"] == nil && request.body.count < text.count / 20)
            }
        }
    }

    @Test func jsonIsCompressedAfterItWasWrittenByTheSessionsCoding() async throws {
        struct Event: Codable, Sendable, Equatable { let someName: String }
        try await withServer { wire async throws in
            let session = wire.session.with { $0.json = JSONCoding(keys: .snakeCase) }
            let events = (0..<200).map { Event(someName: "event \($0)") }
            _ = try await session.request(wire.url + "/", method: .post, body: .json(events).compressed()).response()
            let (request, body) = try await received(wire)
            #expect(request["content-encoding"] == "gzip" && request["content-type"] == "application/json")
            let decoder = JSONDecoder()
            decoder.keyDecodingStrategy = .convertFromSnakeCase
            #expect(try decoder.decode([Event].self, from: body) == events && body.contains(Data("some_name".utf8)))
        }
    }

    @Test func aMultipartFormKeepsItsBoundary() async throws {
        try await withServer { wire async throws in
            var form = MultipartForm()
            form.add(String(decoding: text, as: UTF8.self), name: "text")
            _ = try await wire.send(method: "POST", body: .multipart(form).compressed())
            let (request, body) = try await received(wire)
            #expect(request["content-type"] == form.contentType && request["content-encoding"] == "gzip")
            #expect(body.count > text.count && request.body.count < text.count / 10)
        }
    }

    /// A piece that was given is at the server before the next one.
    @Test func aPieceOfASequenceDoesNotWaitForTheNext() async throws {
        try await withServer { wire async throws in
            wire.server.on("/live", ScriptedResponse.ok().with { $0.requestBody = .receiveWhileAnswering }.stalling(.beforeHead))
            let (stream, continuation) = AsyncStream.makeStream(of: Data.self)
            let run = wire.session.request(wire.url + "/live", method: .post, body: .stream(stream).compressed()).start()
            let request = try await wire.server.takeRequest()
            let encoder = try GzipEncoder(level: 6)
            var expected = 0
            for count in 1...3 {
                let piece = Data("piece \(count)".utf8)
                expected += try encoder.encode(piece, .flush).count
                continuation.yield(piece)
                try await request.waitForBodyBytesReceived(expected)
                #expect(request.bodyBytesReceived == expected)
            }
            await run.cancelAndWait()
            continuation.finish()
        }
    }

    @Test func aRedirectAndARetrySendItAgain() async throws {
        let path = folder.write(text, to: "up")
        try await withServer { wire async throws in
            wire.server.on("/old", .redirect(to: "/new", status: 307))
            wire.server.enqueue(.status(503), for: "/new")
            let request = wire.session.request(wire.url + "/old", method: .put, body: .file(path).compressed())
            _ = try await request.retry(RetryPolicy(maxAttempts: 2, backoffBase: .milliseconds(1))).response()
            for target in ["/old", "/new", "/new"] {
                let (request, body) = try await received(wire)
                #expect(request.target == target && body.isSame(as: text) && request["content-encoding"] == "gzip")
            }
        }
    }

    @Test func aRedirectThatDropsTheBodyDropsItsCoding() async throws {
        try await withServer { wire async throws in
            wire.server.on("/old", .redirect(to: "/new", status: 303))
            _ = try await wire.send("/old", method: "POST", body: .data(text).compressed())
            #expect(try await wire.server.takeRequest()["content-encoding"] == "gzip")
            let next = try await wire.server.takeRequest()
            #expect(next.method == "GET" && next["content-encoding"] == nil && next["content-type"] == nil)
        }
    }

    @Test(arguments: [false, true]) func anotherBodyHasItsOwnCoding(_ isCompressed: Bool) async throws {
        try await withServer { wire async throws in
            wire.server.on("/old", .redirect(to: "/new", status: 307))
            let part = text.prefix(5_000)
            let once = RequestBody.stream(AsyncStream<Data> { $0.finish() })
            let replay = isCompressed ? RequestBody.data(part).compressed() : .data(part)
            let request = wire.session.request(wire.url + "/old", method: .put, body: isCompressed ? once : once.compressed())
            _ = try await request.provideBody { _ in replay }.response()
            #expect(try await received(wire).request["content-encoding"] == (isCompressed ? nil : "gzip"))
            let (next, body) = try await received(wire)
            #expect(next["content-encoding"] == (isCompressed ? "gzip" : nil) && body == part)
        }
    }

    @Test func aFileThatIsNotThereSendsNothing() async throws {
        try await withServer { wire async throws in
            for path in ["/nowhere/file", folder.path, "a\0b"] {
                let body = RequestBody.file(path).compressed()
                let error = try await wire.session.request(wire.url + "/", method: .put, body: body).failure()
                #expect(error.code == .fileUnreadable && error.phase == .preparing)
            }
            #expect(wire.server.connectionsAccepted == 0)
        }
    }

    @Test(arguments: [3, 5]) func aSequenceOfAnotherLengthThanDeclared(_ declared: Int64) async throws {
        try await withServer { wire async throws in
            let sequence = AsyncStream<Data> { continuation in
                continuation.yield(Data("abcd".utf8))
                continuation.finish()
            }
            let body = RequestBody.stream(sequence, length: declared).compressed()
            let error = try await wire.session.request(wire.url + "/", method: .put, body: body).failure()
            #expect(error.code == .bodyStreamFailed && error.message.contains("\(declared) bytes declared"))
        }
    }

    @Test func aCodingOfTheCallersOwnIsRefused() async throws {
        try await withServer { wire async throws in
            let body = RequestBody.data(text).compressed()
            let request = wire.session.request(wire.url + "/", method: .put, body: body).header("Content-Encoding", "br")
            #expect(try await request.failure().code == .invalidHeader)
            let level = wire.session.request(wire.url + "/", method: .put, body: .data(text).compressed(.gzip(level: 11)))
            #expect(try await level.failure().code == .invalidOption)
            #expect(wire.server.connectionsAccepted == 0)
        }
    }

    @Test func aCancelStopsIt() async throws {
        try await withServer { wire async throws in
            wire.server.on("/slow", ScriptedResponse.ok().stalling(.beforeHead))
            let endless = AsyncStream<Data> { Data(repeating: 65, count: 10_000) }
            let run = wire.session.request(wire.url + "/slow", method: .put, body: .stream(endless).compressed()).start()
            try await wire.server.waitForOpenConnections { $0 == 1 }
            await run.cancelAndWait()
            try await wire.server.waitForOpenConnections { $0 == 0 }
        }
    }
}
