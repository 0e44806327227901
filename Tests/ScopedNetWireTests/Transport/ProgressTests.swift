import CleanSlate
import Foundation
import HTTPTypes
import ScopedNetTestServer
import Testing

@testable import ScopedNet

@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1)))
struct ProgressTests {
    private func check(_ progress: [TransferProgress], total: Int64) {
        let counts = progress.map(\.completed)
        #expect(counts == counts.sorted(), "it went back")
        #expect(progress.last == TransferProgress(completed: total, total: total))
        #expect(progress.allSatisfy { $0.total == nil || $0.total == total })
    }

    // SES-6
    @Test(arguments: [0, 1, 100_000, 20 << 20], [ScriptedResponse.Framing.contentLength, .chunked])
    func downloads(_ size: Int, _ framing: ScriptedResponse.Framing) async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok(.repeating(7, count: size)).framed(framing))
            let progress = Gathered<TransferProgress>()
            let order = Gathered<String>()
            wire.get()
                .onDownloadProgress {
                    progress.add($0)
                    order.add("progress")
                }
                .onSuccess { _ in order.add("success") }
                .start()
            await wire.agent.waitUntilIdle()
            check(progress.all, total: Int64(size))
            if framing == .chunked {
                let isUnknown = progress.all.dropLast().allSatisfy { $0.total == nil }
                #expect(isUnknown, "nobody knew the total before the end")
            }
            #expect(order.all.last == "success")
            #expect(order.all.filter { $0 == "success" }.count == 1)
        }
    }

    // SES-6
    @Test(arguments: [0, 1, 60_000, 10 << 20])
    func uploads(_ size: Int) async throws {
        let folder = TemporaryFolder()
        let bodies: [RequestBody] = [
            .data(bytes(size)), .file(folder.write(bytes(size), to: "up")), .stream(AsyncPieces([bytes(size)]), length: Int64(size)),
            .stream(AsyncPieces([bytes(size)])),
        ]
        for (index, body) in bodies.enumerated() {
            try await withWire { wire async throws in
                wire.server.on("/", .ok())
                let progress = Gathered<TransferProgress>()
                let ends = Gathered<String>()
                wire.session.request(wire.url + "/", method: .post, body: body)
                    .onUploadProgress { progress.add($0) }
                    .onEnd { ends.add("\($0)") }
                    .start()
                await wire.agent.waitUntilIdle()
                let counts = progress.all.map(\.completed)
                #expect(counts == counts.sorted(), "body \(index)")
                #expect(
                    progress.all.last == TransferProgress(completed: Int64(size), total: Int64(size)),
                    "body \(index) of \(size): \(ends.all)")
                #expect(try await wire.server.takeRequest().bodyBytesReceived == size)
            }
        }
    }

    /// SES-6: what is told of is the way of what was asked for, not of an error page or of what a redirect says.
    @Test(arguments: [false, true], [404, 302]) func bytesOfWhatWasNotAskedForAreNoProgress(toFile: Bool, status: Int) async throws {
        let folder = TemporaryFolder()
        try await withWire { wire async throws in
            let page = ScriptedResponse.status(status).with { $0.body = .repeating(7, count: 100_000) }
            wire.server.on("/", status == 302 ? page.header("Location", "/there") : page)
            wire.server.on("/there", .ok(.repeating(7, count: 10)))
            let down = Gathered<TransferProgress>()
            if toFile {
                wire.session.download(wire.url + "/", to: URL(filePath: folder.path + "/file")).onDownloadProgress { down.add($0) }.start()
            } else {
                wire.get().onDownloadProgress { down.add($0) }.start()
            }
            await wire.agent.waitUntilIdle()
            if status == 302 { check(down.all, total: 10) } else { #expect(down.all.isEmpty) }
            #expect(down.all.allSatisfy { $0.completed <= 10 })
        }
    }

    /// SES-6: a second attempt sends the body again; what the caller sees does not go back.
    @Test func neverGoesBackOverRetries() async throws {
        try await withWire {
            $0.options.retry = RetryPolicy(maxAttempts: 3, backoffBase: .milliseconds(1))
        } _: { wire async throws in
            wire.server.enqueue(.status(503))
            wire.server.on("/", .ok(.bytes(Array(bytes(500_000)))))
            let up = Gathered<TransferProgress>()
            let down = Gathered<TransferProgress>()
            wire.session.request(wire.url + "/", method: .put, body: .data(bytes(500_000)))
                .onUploadProgress { up.add($0) }
                .onDownloadProgress { down.add($0) }
                .start()
            await wire.agent.waitUntilIdle()
            #expect(wire.server.requests.count == 2)
            check(up.all, total: 500_000)
            check(down.all, total: 500_000)
        }
    }

    // SES-6
    @Test func wireBytesAreCounted() async throws {
        let coded = CodedBodies.gzip(CodedBodies.text)
        try await withWire { wire async throws in
            wire.server.on("/", .ok(.bytes(coded)).header("Content-Encoding", "gzip"))
            let progress = Gathered<TransferProgress>()
            wire.get().onDownloadProgress { progress.add($0) }.start()
            await wire.agent.waitUntilIdle()
            check(progress.all, total: Int64(coded.count))
        }
    }

    /// SES-6: what comes while nobody listens is told as one.
    @Test func whatWaitsIsCoalesced() async throws {
        try await withStage { session, stage in
            let (progress, told) = (Gathered<TransferProgress>(), Latch())
            let request = session.request("http://h/").onDownloadProgress {
                progress.add($0)
                if $0.completed == 100 { told.open() }
            }
            request.start()
            await stage.waitForStarts(1)
            session.configuration.deliveryQueue.suspend()
            for count in 1...100 { stage.received(stage.started[0], Int64(count), of: 200) }
            session.configuration.deliveryQueue.resume()
            // The end would be one with what waits, too.
            await told.wait()
            stage.succeed(stage.started[0])
            await session.agent.waitUntilIdle()
            // What was being told when the queue was stopped goes on.
            #expect(progress.all.contains(TransferProgress(completed: 100, total: 200)) && progress.all.count < 50)
        }
    }

    /// Whoever read the last bytes in time heard of the end twice.
    @Test func theSameCountIsReportedOnce() {
        func step(_ from: Int64, _ total: Int64?, _ to: Int64, _ newTotal: Int64?) -> Bool {
            TransferProgress(completed: from, total: total).isFollowed(by: TransferProgress(completed: to, total: newTotal))
        }
        #expect(step(-1, nil, 0, nil))
        #expect(step(5, 10, 6, 10))
        #expect(step(5, nil, 5, 5))
        #expect(!step(10, 10, 10, 10))
        #expect(!step(5, 10, 5, nil))
        #expect(!step(5, 10, 4, 10))
    }
}
