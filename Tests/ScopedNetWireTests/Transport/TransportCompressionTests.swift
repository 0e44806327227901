import CleanSlate
import Foundation
import HTTPTypes
import ScopedNetTestServer
import Testing

@testable import ScopedNet

@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1)))
struct TransportCompressionTests {
    @Test func theCodingsWeKnowAreOffered() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok())
            _ = try await wire.send()
            #expect(try await wire.server.takeRequest()["accept-encoding"] == ContentDecoder.acceptEncodingValue)
            _ = try await wire.get("/") { $0.acceptsCompression = false }.response()
            #expect(try await wire.server.takeRequest()["accept-encoding"] == "identity")
            _ = try await wire.session.request(wire.url + "/", headers: [.acceptEncoding: "br"]).response()
            #expect(try await wire.server.takeRequest().headers[all: "accept-encoding"] == ["br"])
        }
    }

    @Test(arguments: CodedBodies.samples)
    func bodiesAreDecoded(_ sample: CodedBodies.Sample) async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok(.bytes(sample.coded)).header("Content-Encoding", sample.encoding))
            let response = try await wire.send()
            #expect(response.body.isSame(as: Data(sample.decoded)))
            #expect(response.metrics.bodyBytesReceived == sample.coded.count)
            // The head says what came over the wire.
            #expect(response.head["content-encoding"] == sample.encoding)
        }
    }

    @Test(arguments: CodedBodies.samples)
    func streamedBodiesAreDecoded(_ sample: CodedBodies.Sample) async throws {
        try await withWire { wire async throws in
            wire.server.on(
                "/", .ok(.bytes(sample.coded)).header("Content-Encoding", sample.encoding).framed(.chunked).paced(bytes: 700, every: .zero))
            let response = try await wire.session.stream(wire.url + "/")
            var body = Data()
            for try await piece in response.bytes { body += piece }
            #expect(body.isSame(as: Data(sample.decoded)))
        }
    }

    @Test(arguments: ["aes128gcm", "gzip, aes128gcm", "identity"])
    func unknownCodingsArePassedThrough(_ coding: String) async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok("as it came").header("Content-Encoding", coding))
            #expect(try await wire.send().body == Data("as it came".utf8))
        }
    }

    @Test func aDamagedBodyIsAnErrorOfItsOwn() async throws {
        var coded = CodedBodies.gzip(CodedBodies.text)
        coded[coded.count / 2] ^= 0xFF
        try await withWire { [coded] wire async throws in
            wire.server.on("/", .ok(.bytes(coded)).header("Content-Encoding", "gzip"))
            let error = try await wire.get().failure()
            #expect(error.code == .contentDecodingFailed)
            #expect(error.phase == .decoding)
            #expect(error.response?.status == 200)
        }
    }

    /// Complete by its framing and incomplete by its coding.
    @Test func aCutCodingIsAnError() async throws {
        let coded = CodedBodies.gzip(CodedBodies.text)
        try await withWire { wire async throws in
            wire.server.on("/", .ok(.bytes(Array(coded[..<(coded.count - 9)]))).header("Content-Encoding", "gzip"))
            #expect(try await wire.get().failure().code == .contentDecodingFailed)
            let response = try await wire.session.stream(wire.url + "/")
            let error = await #expect(throws: NetworkError.self) { for try await _ in response.bytes {} }
            #expect(error?.code == .contentDecodingFailed)
        }
    }

    @Test func errorDocumentsAreDecodedToo() async throws {
        try await withWire { wire async throws in
            wire.server.on(
                "/",
                ScriptedResponse(
                    status: 422, headers: ["Content-Encoding": "gzip"], body: .bytes(CodedBodies.gzip(Array("{\"code\":7}".utf8)))))
            let error = try await wire.get().failure()
            #expect(error.code == .unacceptableStatus)
            #expect(error.decoded(as: [String: Int].self) == ["code": 7])
        }
    }

    @Test func headAndEmptyResponsesWithACodingAreFine() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", ScriptedResponse(status: 204, headers: ["Content-Encoding": "gzip"]))
            #expect(try await wire.send().body.isEmpty)
            wire.server.on("/head", .ok(.bytes(CodedBodies.gzip(CodedBodies.text))).header("Content-Encoding", "gzip"))
            #expect(try await wire.send("/head", method: "HEAD").body.isEmpty)
        }
    }
}
