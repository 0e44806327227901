import CleanSlate
import Foundation
import HTTPTypes
import ScopedNetTestServer
import Testing

@testable import ScopedNet

@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1)))
struct UploadTests {
    private let folder = TemporaryFolder()

    private func withEcho(configure: (inout Session.Configuration) -> Void = { _ in }, _ test: (Wire) async throws -> Void) async throws {
        try await withWire(configure: configure) { wire async throws in
            wire.server.on("/") { .ok(.bytes($0.body)) }
            try await test(wire)
        }
    }

    private func pieces(_ total: Int, each: Int) -> [Data] {
        let all = bytes(total)
        return stride(from: 0, to: total, by: each).map { all[$0..<min(total, $0 + each)] }
    }

    private static let sizes = [0, 1, 1_000, 65_535, 65_536, 65_537, 1 << 20]

    @Test(arguments: sizes, ["POST", "PUT"])
    func data(_ size: Int, _ method: String) async throws {
        try await withEcho { wire async throws in
            #expect(try await wire.send(method: method, body: .data(bytes(size))).body.isSame(as: bytes(size)))
            let request = try await wire.server.takeRequest()
            #expect(request["content-length"] == "\(size)")
            #expect(request["transfer-encoding"] == nil)
        }
    }

    @Test(arguments: sizes)
    func file(_ size: Int) async throws {
        let path = folder.write(bytes(size), to: "up")
        try await withEcho { wire async throws in
            #expect(try await wire.send(method: "PUT", body: .file(path)).body.isSame(as: bytes(size)))
            #expect(try await wire.server.takeRequest()["content-length"] == "\(size)")
        }
    }

    @Test func aFileThatCannotBeRead() async throws {
        try await withEcho { wire async throws in
            for path in ["/nowhere/file", folder.path] {
                let error = try await wire.session.request(wire.url + "/", method: .put, body: .file(path)).failure()
                #expect(error.code == .fileUnreadable)
                #expect(error.phase == .preparing)
            }
            #expect(wire.server.connectionsAccepted == 0)
        }
    }

    /// Opening a FIFO waits for its writer; nobody else may wait with it.
    @Test func aFIFOIsRefusedAndNobodyWaits() async throws {
        let fifo = folder.path + "/fifo"
        try #require(mkfifo(fifo, 0o600) == 0)
        try await withEcho { wire async throws in
            let error = try await wire.session.request(wire.url + "/", method: .put, body: .file(fifo)).failure()
            #expect(error.code == .fileUnreadable)
            #expect(error.message == "\(fifo) is not a regular file")
            #expect(try await wire.send(method: "PUT", body: .data(bytes(3))).body.count == 3)
        }
    }

    /// The system would read the path up to the NUL and send that file.
    @Test func aPathWithANULIsNoOtherFile() async throws {
        let path = folder.write(bytes(10), to: "up")
        try await withEcho { wire async throws in
            let error = try await wire.session.request(wire.url + "/", method: .put, body: .file(path + "\0.txt")).failure()
            #expect(error.code == .fileUnreadable)
            #expect(error.message.contains("NUL"))
            #expect(wire.server.connectionsAccepted == 0)
        }
    }

    @Test(arguments: sizes)
    func sequenceOfKnownLength(_ size: Int) async throws {
        try await withEcho { wire async throws in
            let body = RequestBody.stream(AsyncPieces(pieces(size, each: 10_000)), length: Int64(size))
            #expect(try await wire.send(method: "POST", body: body).body.isSame(as: bytes(size)))
            #expect(try await wire.server.takeRequest()["content-length"] == "\(size)")
        }
    }

    @Test(arguments: sizes)
    func sequenceOfUnknownLengthIsChunked(_ size: Int) async throws {
        try await withEcho { wire async throws in
            let body = RequestBody.stream(AsyncPieces(pieces(size, each: 10_000)))
            #expect(try await wire.send(method: "POST", body: body).body.isSame(as: bytes(size)))
            let request = try await wire.server.takeRequest()
            #expect(request["transfer-encoding"] == "chunked")
            #expect(request["content-length"] == nil)
        }
    }

    @Test func aSlowSequenceIsWaitedForWithoutAClock() async throws {
        try await withEcho(configure: { $0.options.timeouts.idle = .milliseconds(400) }) { wire async throws in
            let (stream, continuation) = AsyncStream.makeStream(of: Data.self)
            wire.server.on("/", .ok("done").with { $0.requestBody = .receive })
            let request = wire.session.request(wire.url + "/", method: .post, body: .stream(stream))
            let recorder = Task { await request.outcome() }
            continuation.yield(Data("first".utf8))
            try await wire.server.waitForOpenConnections { $0 == 1 }
            // Longer than the idle time, as two others find out, one after the other: it is the caller who is slow here, not the network.
            wire.server.on("/silent", .ok("late").stalling(.afterBytes(1)))
            for _ in 0..<2 {
                let error = try await wire.get("/silent").failure()
                #expect(error.code == .idleTimeout)
            }
            continuation.yield(Data("last".utf8))
            continuation.finish()
            #expect(try await recorder.value.get().status == 200)
            let upload = wire.server.requests.first { $0.method == "POST" }
            #expect(upload?.text == "firstlast")
        }
    }

    @Test(arguments: [999, 1_001])
    func aSequenceOfAnotherLengthThanDeclared(_ declared: Int64) async throws {
        try await withEcho { wire async throws in
            let body = RequestBody.stream(AsyncPieces(pieces(1_000, each: 100)), length: declared)
            let error = try await wire.session.request(wire.url + "/", method: .post, body: body).failure()
            #expect(error.code == .bodyStreamFailed)
            #expect(error.message.contains("\(declared)"))
            #expect(wire.server.requests.allSatisfy { $0.ended != .completed })
        }
    }

    /// libcurl asks for nothing behind the declared length: what completes it waits for the end of the sequence.
    @Test(arguments: [100, 999, 1_000])
    func aPieceEndsWhereTheDeclaredLengthEndsAndMoreFollows(_ each: Int) async throws {
        try await withEcho { wire async throws in
            let (stream, continuation) = AsyncStream.makeStream(of: Data.self)
            for piece in pieces(1_000, each: each) { continuation.yield(piece) }
            let late = Task {
                // The network has taken what it will by now, or takes it afterwards: the answer is the same.
                try await Task.sleep(for: .milliseconds(20))
                continuation.yield(Data("x".utf8))
                continuation.finish()
            }
            let body = RequestBody.stream(stream, length: 1_000)
            let error = try await wire.session.request(wire.url + "/", method: .post, body: body).failure()
            try await late.value
            #expect(error.code == .bodyStreamFailed)
            #expect(error.message.contains("1000"))
            #expect(wire.server.requests.allSatisfy { $0.ended != .completed })
        }
    }

    @Test func aSequenceThatThrowsBehindItsDeclaredLength() async throws {
        try await withEcho { wire async throws in
            let stream = AsyncThrowingStream<Data, any Error> { continuation in
                continuation.yield(Data("some".utf8))
                continuation.finish(throwing: Refusal())
            }
            let error = try await wire.session.request(wire.url + "/", method: .post, body: .stream(stream, length: 4)).failure()
            #expect(error.code == .bodyStreamFailed)
            #expect(error.underlying as? Refusal == Refusal())
        }
    }

    /// A network that is always faster than the sequence is woken for each piece, however many there are: what is told a hundred thousand times
    /// stays as small as at the first.
    @Test func aSequenceThatIsAlwaysBehind() async throws {
        let rounds = 100_000
        let wakes = Counter()
        let stream = UploadStream(length: nil) { _ in try await Task.sleep(for: .seconds(3_600)) }
        stream.begin { wakes.add() }
        var byte: UInt8 = 0
        for round in 0..<rounds {
            let taken = withUnsafeMutableBytes(of: &byte) { stream.take(into: $0) }
            guard case .notYet = taken else { throw UnexpectedSuccess() }
            try await stream.send(Data([UInt8(truncatingIfNeeded: round)]))
            guard case .bytes(1) = withUnsafeMutableBytes(of: &byte, { stream.take(into: $0) }) else { throw UnexpectedSuccess() }
            guard byte == UInt8(truncatingIfNeeded: round) else { throw UnexpectedSuccess() }
        }
        stream.abandon()
        #expect(wakes.value == rounds)
    }

    /// All its bytes are there, and it does not end: it is not waited for any longer than for a server.
    @Test func aSequenceThatDoesNotEnd() async throws {
        try await withEcho { wire async throws in
            let (stream, continuation) = AsyncStream.makeStream(of: Data.self)
            continuation.yield(Data("some".utf8))
            let request = wire.session.request(wire.url + "/", method: .post, body: .stream(stream, length: 4))
            let error = try await request.options { $0.timeouts.idle = .milliseconds(300) }.failure()
            #expect(error.code == .bodyStreamFailed && error.phase == .sending, "\(error)")
            #expect(error.message.contains("4 bytes declared, and does not end"))
            continuation.finish()
            #expect(wire.server.requests.allSatisfy { $0.ended != .completed })
        }
    }

    /// While bytes are missing a sequence may take its time.
    @Test func aSequenceThatTakesItsTime() async throws {
        try await withEcho { wire async throws in
            let (stream, continuation) = AsyncStream.makeStream(of: Data.self)
            let late = Task {
                continuation.yield(Data("so".utf8))
                try await Task.sleep(for: .seconds(4))
                continuation.yield(Data("me".utf8))
                continuation.finish()
            }
            let request = wire.session.request(wire.url + "/", method: .post, body: .stream(stream, length: 4))
            let response = try await request.options { $0.timeouts.idle = .seconds(2) }.response()
            #expect(response.body == Data("some".utf8))
            try await late.value
        }
    }

    @Test func aSequenceWhoseEndComesLate() async throws {
        try await withEcho { wire async throws in
            let (stream, continuation) = AsyncStream.makeStream(of: Data.self)
            let late = Task {
                continuation.yield(Data("some".utf8))
                try await Task.sleep(for: .milliseconds(700))
                continuation.finish()
            }
            let request = wire.session.request(wire.url + "/", method: .post, body: .stream(stream, length: 4))
            let response = try await request.options { $0.timeouts.idle = .seconds(20) }.response()
            #expect(response.body == Data("some".utf8))
            try await late.value
        }
    }

    @Test func ofNoBytesTheSequenceIsNotAsked() async throws {
        try await withEcho { wire async throws in
            let asked = Counter()
            let sequence = AsyncStream<Data> {
                asked.add()
                return Data("x".utf8)
            }
            let response = try await wire.session.request(wire.url + "/", method: .post, body: .stream(sequence, length: 0)).response()
            #expect(response.body.isEmpty && asked.value == 0)
            let sent = try #require(wire.server.requests.first)
            let ending = try await sent.ending()
            #expect(sent["content-length"] == "0" && ending == .completed)
        }
    }

    /// A piece of the caller's may do anything when it goes: it is let go of where no lock is held and no network waits, by the task that sends the
    /// next one, or when nobody wants more.
    @Test(arguments: [false, true]) func aPieceIsReleasedElsewhere(_ isLast: Bool) async throws {
        let stream = UploadStream(length: nil) { _ in try await Task.sleep(for: .seconds(3_600)) }
        let (released, taken) = (Latch(), Latch())
        let (isSent, isOnNetwork) = (Gathered<Bool>(), Gathered<Bool>())
        let memory = UnsafeMutableRawPointer.allocate(byteCount: 4, alignment: 1)
        memory.initializeMemory(as: UInt8.self, repeating: 7, count: 4)
        stream.begin {}
        try await stream.send(
            Data(
                bytesNoCopy: memory, count: 4,
                deallocator: .custom { memory, _ in
                    memory.deallocate()
                    isOnNetwork.add(Thread.current.name == "network")
                    var byte: UInt8 = 0
                    _ = withUnsafeMutableBytes(of: &byte) { stream.take(into: $0) }
                    released.open()
                }))
        // The network's part, on a thread that does nothing else.
        Thread.detachNewThread {
            Thread.current.name = "network"
            var buffer = [UInt8](repeating: 0, count: 4)
            let step = buffer.withUnsafeMutableBytes { stream.take(into: $0) }
            if case .bytes(4) = step { isSent.add(buffer == [7, 7, 7, 7]) }
            if isLast { stream.abandon() }
            taken.open()
        }
        await taken.wait()
        if !isLast { try await stream.send(Data([1])) }
        await released.wait()
        #expect(isSent.all == [true] && isOnNetwork.all == [false])
        stream.abandon()
    }

    @Test func aNegativeLengthIsRefused() async throws {
        try await withEcho { wire async throws in
            let body = RequestBody.stream(AsyncPieces(pieces(10, each: 10)), length: -1)
            let error = try await wire.session.request(wire.url + "/", method: .post, body: body).failure()
            #expect(error.code == .invalidOption)
            #expect(wire.server.requests.isEmpty)
        }
    }

    struct Refusal: Error, Equatable {}

    @Test(arguments: [nil, 1_000 as Int64?])
    func aSequenceThatThrows(_ length: Int64?) async throws {
        try await withEcho { wire async throws in
            let stream = AsyncThrowingStream<Data, any Error> { continuation in
                continuation.yield(Data("some".utf8))
                continuation.finish(throwing: Refusal())
            }
            let error = try await wire.session.request(wire.url + "/", method: .post, body: .stream(stream, length: length)).failure()
            #expect(error.code == .bodyStreamFailed)
            #expect(error.underlying is Refusal)
            #expect(error.phase == .sending)
        }
    }

    @Test func aOneShotSequenceIsReadOnce() async throws {
        try await withEcho { wire async throws in
            let request = wire.session.request(wire.url + "/", method: .post, body: .stream(AsyncPieces([Data("x".utf8)])))
            _ = try await request.response()
            let error = try await request.failure()
            #expect(error.code == .bodyNotReplayable)
            #expect(wire.server.requests.count == 1)
        }
    }

    @Test func aReplayableSequenceIsReadAgain() async throws {
        try await withEcho { wire async throws in
            let body = RequestBody.stream(AsyncPieces([Data("x".utf8)]), isReplayable: true)
            let request = wire.session.request(wire.url + "/", method: .post, body: body)
            for _ in 0..<3 { #expect(try await request.response().body == Data("x".utf8)) }
        }
    }

    @Test(arguments: [307, 308])
    func bodiesFollowRedirectsThatKeepThem(_ status: Int) async throws {
        let path = folder.write(bytes(100_000), to: "up")
        try await withEcho { wire async throws in
            wire.server.on("/old", .redirect(to: "/", status: status))
            let bodies: [RequestBody] = [
                .data(bytes(100_000)), .file(path), .stream(AsyncPieces(pieces(100_000, each: 7_000)), isReplayable: true),
            ]
            for body in bodies {
                #expect(try await wire.send("/old", method: "POST", body: body).body.isSame(as: bytes(100_000)))
            }
            let oneShot = RequestBody.stream(AsyncPieces([Data("x".utf8)]))
            let error = try await wire.session.request(wire.url + "/old", method: .post, body: oneShot).failure()
            #expect(error.code == .bodyNotReplayable)
        }
    }

    @Test func theServerHoldsBackTheSequence() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok("late").stalling(.beforeHead).with { $0.requestBody = .leaveUnread })
            let counter = Gathered<Int>()
            let body = RequestBody.stream(EndlessPieces(size: 64 << 10, pulled: counter))
            let run = wire.session.request(wire.url + "/", method: .post, body: body).start()
            try await wire.server.waitForStalls()
            var pulled = -1
            var rests = 0
            while rests < 50 {
                rests = counter.all.count == pulled ? rests + 1 : 0
                pulled = counter.all.count
                _ = try? await wire.session.request("http://127.0.0.1:1/").response()
            }
            #expect(pulled * (64 << 10) < 32 << 20, "\(pulled) pieces were pulled for a server that does not read")
            await run.cancelAndWait()
            wire.server.releaseStalls()
        }
    }

    /// A server that answers before it has read the body.
    @Test func anEarlyAnswerIsDelivered() async throws {
        try await withWire { wire async throws in
            wire.server.on(
                "/",
                .ok("too large").with {
                    $0.status = 413
                    $0.requestBody = .receiveWhileAnswering
                    $0.end = .close
                })
            let error = try await wire.session.request(wire.url + "/", method: .post, body: .data(bytes(8 << 20))).failure()
            #expect(error.code == .unacceptableStatus || error.code == .connectionLost, "\(error)")
        }
    }
}

/// Pieces that exist already, as a sequence.
struct AsyncPieces: AsyncSequence, Sendable {
    let pieces: [Data]
    init(_ pieces: [Data]) { self.pieces = pieces }

    struct AsyncIterator: AsyncIteratorProtocol {
        var rest: ArraySlice<Data>
        mutating func next() async -> Data? { rest.popFirst() }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(rest: pieces[...]) }
}

/// Pieces without an end, counted.
struct EndlessPieces: AsyncSequence, Sendable {
    let size: Int
    let pulled: Gathered<Int>

    struct AsyncIterator: AsyncIteratorProtocol {
        let size: Int
        let pulled: Gathered<Int>
        mutating func next() async -> Data? {
            pulled.add(1)
            return Data(count: size)
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(size: size, pulled: pulled) }
}
