import CleanSlate
import Foundation
import HTTPTypes
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// `Session.upload`, by what the server saw: S0-3, SES-4.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1)))
struct UploadTaskTests {
    private struct Receipt: Codable, Sendable, Equatable { var bytes: Int }
    private let folder = TemporaryFolder()

    private func withStore(_ test: (Wire) async throws -> Void) async throws {
        try await withWire { wire async throws in
            wire.server.on("/up") { .json(#"{"bytes":\#($0.body.count)}"#) }
            try await test(wire)
        }
    }

    @Test func bytes() async throws {
        try await withStore { wire async throws in
            let url = wire.url + "/up"
            let data = Data("hello".utf8)
            let plain = try await wire.session.upload(url, from: data).value()
            let typed = try await wire.session.upload(
                url, from: data, contentType: "text/plain", method: .put, decoder: .json(Receipt.self)
            ).value()
            #expect(plain == Data(#"{"bytes":5}"#.utf8) && typed == Receipt(bytes: 5))
            let seen = wire.server.requests
            #expect(seen.map(\.method) == ["POST", "PUT"] && seen.map(\.text) == ["hello", "hello"])
            #expect(seen.map { $0["content-type"] ?? "" } == ["", "text/plain"] && seen.map { $0["content-length"] } == ["5", "5"])
        }
    }

    @Test func aFile() async throws {
        let file = URL(filePath: folder.write(Data(repeating: 7, count: 300_000), to: "photo.jpg"))
        try await withStore { wire async throws in
            let url = wire.url + "/up"
            let receipt = try await wire.session.upload(url, from: file, decoder: .json(Receipt.self)).value()
            _ = try await wire.session.upload(url, from: file, contentType: "image/x-raw", method: .patch).value()
            _ = try await wire.session.upload(url, from: file, headers: [.contentType: "image/x-other"]).value()
            #expect(receipt.bytes == 300_000)
            let seen = wire.server.requests
            #expect(seen.map(\.method) == ["POST", "PATCH", "POST"])
            #expect(seen.map { $0["content-type"] } == ["image/jpeg", "image/x-raw", "image/x-other"])
            #expect(seen.allSatisfy { $0.body.count == 300_000 && $0["content-length"] == "300000" })
        }
    }

    @Test func aFileThatIsNone() async throws {
        try await withStore { wire async throws in
            let url = wire.url + "/up"
            let missing = try await wire.session.upload(url, from: URL(filePath: folder.path + "/missing")).failure()
            let remote = try await wire.session.upload(url, from: try #require(URL(string: "http://host/file"))).failure()
            let nul = try await wire.session.upload(url, from: try #require(URL(string: "file:///etc/passwd%00.jpg"))).failure()
            #expect(missing.code == .fileUnreadable && remote.code == .invalidOption && nul.code == .fileUnreadable)
            #expect(wire.server.requests.isEmpty)
        }
    }

    // S0-3: one call, by value, as a stream.
    @Test func aForm() async throws {
        let file = URL(filePath: folder.write("bytes of a photo", to: "a.png"))
        try await withStore { wire async throws in
            var form = MultipartForm()
            form.add("Holidays", name: "title")
            try form.add(file: file, name: "photo")
            let request = wire.session.upload(wire.url + "/up", from: form, decoder: .json(Receipt.self))
            let receipt = try await request.value()
            let seen = try #require(wire.server.requests.first)
            #expect(Int64(receipt.bytes) == form.contentLength && seen["content-type"] == form.contentType && seen.method == "POST")
            #expect(seen.text.contains("bytes of a photo") && seen["transfer-encoding"] == nil)
        }
    }

    // MP-11: what was written is what is sent, with the form's type, and from where it was written.
    @Test func aFormThatWasWrittenIsSentFromItsFile() async throws {
        let file = URL(filePath: folder.path + "/body")
        try await withStore { wire async throws in
            var form = MultipartForm()
            form.add("Holidays", name: "title")
            let body = try await form.write(to: file)
            let written = try Data(contentsOf: file)
            _ = try await wire.session.post(wire.url + "/up", body: body).value()
            let seen = try #require(wire.server.requests.first)
            #expect(Data(seen.body) == written && seen["content-type"] == form.contentType)
            #expect(seen["content-length"] == "\(written.count)" && seen["transfer-encoding"] == nil)
            try FileManager.default.removeItem(at: file)
            let error = try await wire.session.post(wire.url + "/up", body: body).failure()
            #expect(error.code == .fileUnreadable)
        }
    }

    // Defect 5: no step of a part goes by a queue of the program's, not by the main one either.
    @Test @MainActor func aFormGoesOutWhileTheMainThreadStandsStill() async throws {
        let file = URL(filePath: folder.write(Data(repeating: 7, count: 300_000), to: "photo.jpg"))
        try await withStore { wire async throws in
            var form = MultipartForm()
            form.add("Holidays", name: "title")
            try form.add(file: file, name: "photo")
            try form.add(PartPieces(["one", "two"]), length: 6, name: "log")
            let ended = DispatchSemaphore(value: 0)
            start(wire.session.upload(wire.url + "/up", from: form), ended)
            let isSent = waits(for: ended)
            #expect(isSent)
            let sent = try #require(wire.server.requests.first).body.count
            #expect(Int64(sent) == form.contentLength)
        }
    }

    /// Apart, because a closure that is written on the main actor is called there.
    nonisolated private func start(_ request: Request<Data>, _ ended: DispatchSemaphore) {
        request.onEnd { _ in ended.signal() }.start()
    }

    /// Holds the main thread meanwhile.
    @MainActor private func waits(for ended: DispatchSemaphore) -> Bool { ended.wait(timeout: .now() + .seconds(30)) == .success }

    @Test func sequencesWithAndWithoutALength() async throws {
        try await withStore { wire async throws in
            let pieces = AsyncPieces([Data("ab".utf8), Data("cd".utf8)])
            _ = try await wire.session.upload(wire.url + "/up", from: pieces, length: 4).value()
            _ = try await wire.session.upload(wire.url + "/up", from: pieces, contentType: "text/csv", method: .put).value()
            let seen = wire.server.requests
            #expect(seen.map(\.text) == ["abcd", "abcd"] && seen.map { $0["content-length"] } == ["4", nil])
            #expect(seen[1]["transfer-encoding"] == "chunked" && seen[1]["content-type"] == "text/csv")
        }
    }

    // SES-4: nothing happens before the start; then progress, and the value.
    @Test func itIsSuspendedUntilItStarts() async throws {
        try await withStore { wire async throws in
            let progress = Gathered<TransferProgress>()
            let values = Gathered<Int>()
            let request = wire.session.upload(wire.url + "/up", from: Data(repeating: 1, count: 3 << 20), decoder: .json(Receipt.self))
                .onUploadProgress { progress.add($0) }
                .onSuccess { values.add($0.bytes) }
            _ = try await wire.session.upload(wire.url + "/up", from: Data()).value()
            #expect(wire.server.requests.count == 1 && progress.all.isEmpty)
            request.start()
            await wire.agent.waitUntilIdle()
            #expect(values.all == [3 << 20] && progress.all.last == TransferProgress(completed: 3 << 20, total: 3 << 20))
        }
    }

    // G5
    @Test func aCancelBeforeTheStartSendsNothing() async throws {
        try await withStore { wire async throws in
            let bag = DeallocBag()
            bag.end()
            let ends = Gathered<Bool>()
            wire.session.upload(wire.url + "/up", from: Data("x".utf8)).onEnd { ends.add($0.isCancelled) }.start(in: bag)
            await wire.agent.waitUntilIdle()
            #expect(ends.all == [true] && wire.server.connectionsAccepted == 0)
        }
    }
}
