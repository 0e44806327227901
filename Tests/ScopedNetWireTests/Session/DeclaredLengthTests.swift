import CleanSlate
import Foundation
import HTTPTypes
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// A `Content-Length` of the caller's own: sent once where it is true, an error where it is not.
@Suite(.leavesNothing, .timeLimit(.minutes(1))) struct DeclaredLengthTests {
    enum Kind: CaseIterable { case data, empty, file, sequence, form }

    private func body(_ kind: Kind, in folder: TemporaryFolder) -> (body: RequestBody, length: Int64) {
        switch kind {
        case .data: return (.data(bytes(5)), 5)
        case .empty: return (.data(Data()), 0)
        case .file: return (.file(folder.write(bytes(70_000), to: "body")), 70_000)
        case .sequence:
            return (
                .stream(
                    AsyncStream {
                        $0.yield(bytes(7)); $0.finish()
                    }, length: 7), 7
            )
        case .form:
            var form = MultipartForm()
            form.add(String(repeating: "a", count: 100_000), name: "a")
            return (.multipart(form), form.contentLength ?? 0)
        }
    }

    @Test(arguments: Kind.allCases) func aTrueOneIsSent(_ kind: Kind) async throws {
        let folder = TemporaryFolder()
        try await withWire { wire async throws in
            wire.server.on("/", .ok())
            let (body, length) = body(kind, in: folder)
            let headers: HTTPFields = [.contentLength: "\(length)"]
            _ = try await wire.session.request(wire.url + "/", method: .post, headers: HeaderFields(headers), body: body).response()
            let seen = try await wire.server.takeRequest()
            #expect(seen.headers.filter { $0.name.lowercased() == "content-length" }.map(\.value) == ["\(length)"])
            #expect(seen.body.count == Int(length))
        }
    }

    @Test(arguments: Kind.allCases, [-1, 1]) func aWrongOneIsAnErrorAndNothingIsSent(_ kind: Kind, _ difference: Int64) async throws {
        let folder = TemporaryFolder()
        try await withWire { wire async throws in
            let (body, length) = body(kind, in: folder)
            let headers: HTTPFields = [.contentLength: "\(length + difference)"]
            let error = try await wire.session.request(wire.url + "/", method: .post, headers: HeaderFields(headers), body: body).failure()
            #expect(error.code == .invalidHeader && error.phase == .preparing)
            #expect(wire.server.requests.isEmpty)
        }
    }

    @Test(arguments: ["+5", "05", "5, 5", "", "5 5", "0x5"]) func otherSpellingsAreErrors(_ text: String) async throws {
        let folder = TemporaryFolder()
        try await withWire { wire async throws in
            for body in [RequestBody.data(bytes(5)), .file(folder.write(bytes(5), to: "body"))] {
                let headers: HTTPFields = [.contentLength: text]
                let error = try await wire.session.request(wire.url + "/", method: .put, headers: HeaderFields(headers), body: body)
                    .failure()
                #expect(error.code == .invalidHeader, "\(text)")
            }
        }
    }

    @Test func aSequenceOfUnknownLengthHasNone() async throws {
        try await withWire { wire async throws in
            let body = RequestBody.stream(
                AsyncStream {
                    $0.yield(bytes(7)); $0.finish()
                })
            let error = try await wire.session.request(wire.url + "/", method: .post, headers: [.contentLength: "7"], body: body).failure()
            #expect(error.code == .invalidHeader && error.message.contains("not known"))
        }
    }

    /// It is the file's again with the second attempt, and so is the check.
    @Test func aFileIsComparedWithEachAttempt() async throws {
        let folder = TemporaryFolder()
        try await withWire {
            $0.options.retry = RetryPolicy(maxAttempts: 2, backoffBase: .milliseconds(1))
        } _: { wire async throws in
            wire.server.enqueue(.status(503))
            wire.server.on("/", .ok())
            let path = folder.write(bytes(5), to: "body")
            _ = try await wire.session.request(wire.url + "/", method: .put, headers: [.contentLength: "5"], body: .file(path)).response()
            #expect(wire.server.requests.map(\.body.count) == [5, 5])
        }
    }
}
