import CleanSlate
import Foundation
import ScopedNetTestServer
import Testing

@_spi(Transport) @testable import ScopedNet

/// Files are written and read ahead by other threads than the network's: the decisions, and the types that carry them out.
@Suite(.leavesNothing, .timeLimit(.minutes(1)))
struct FileWriterTests {
    private typealias Received = ReadAheadState<Int>.Received
    private typealias State = FileWriterState<String, Int>

    private func expectWrite(_ step: State.Step, _ buffer: String, _ location: SourceLocation = #_sourceLocation) {
        guard case .write(buffer) = step else {
            Issue.record("\(step)", sourceLocation: location)
            return
        }
    }

    /// The macro cannot call what changes a value.
    private func check<Value: Equatable>(_ value: Value, _ expected: Value, _ location: SourceLocation = #_sourceLocation) {
        #expect(value == expected, sourceLocation: location)
    }

    private func begin(_ state: inout ReadAheadState<Int>) throws -> ReadAheadState<Int>.Reading {
        let reading = state.begin()
        return try #require(reading)
    }

    // MARK: Writing: the decisions

    @Test func buffersAreWrittenInOrderByOneJob() {
        var state = State(window: 100)
        check(state.handOver("a", count: 10), true)
        check(state.handOver("b", count: 10), false)
        expectWrite(state.next(), "a")
        check(state.wrote(), false)
        expectWrite(state.next(), "b")
        check(state.wrote(), false)
        guard case .idle = state.next() else { return #expect(Bool(false)) }
        check(state.handOver("c", count: 10), true)
        expectWrite(state.next(), "c")
        check(state.end(), false)
        check(state.wrote(), false)
        guard case .finished = state.next() else { return #expect(Bool(false)) }
    }

    @Test func aFullWindowPausesUntilHalfOfItIsWritten() {
        var state = State(window: 20)
        for name in ["a", "b", "c"] { _ = state.handOver(name, count: 10) }
        check(state.pauses(), true)
        // A resume of the user's has let it go on meanwhile.
        check(state.pauses(), true)
        expectWrite(state.next(), "a")
        check(state.wrote(), false)
        expectWrite(state.next(), "b")
        check(state.wrote(), true)
        check(state.pauses(), false)
        expectWrite(state.next(), "c")
        check(state.wrote(), false)
        #expect(state.waiting == 0)
    }

    @Test func aFailureDropsWhatWaitsAndTakesNothingMore() {
        var state = State(window: 5)
        for name in ["a", "b", "c"] { _ = state.handOver(name, count: 10) }
        expectWrite(state.next(), "a")
        check(state.fail(28), ["b", "c"])
        check(state.handOver("d", count: 10), false)
        check(state.pauses(), false)
        #expect(state.failure == 28)
        guard case .idle = state.next() else { return #expect(Bool(false)) }
        check(state.end(), true)
    }

    // MARK: Writing

    /// Files of a folder that this process has open, those without a name too.
    private static func openFiles(in folder: TemporaryFolder) -> Int {
        let descriptors = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return descriptors.count { name in
            let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + name)
            return target?.hasPrefix(folder.path + "/") == true
        }
    }

    /// A file whose writes wait for a signal each.
    private func withHeldFile(
        _ test: (FileSink, _ writes: Trace, _ letGo: DispatchSemaphore, TemporaryFolder) async throws -> Void
    ) async throws {
        let (folder, writes, letGo) = (TemporaryFolder(), Trace(), DispatchSemaphore(value: 0))
        var calls = FileCalls.system
        calls.write = { descriptor, bytes, count in
            writes.add("write")
            letGo.wait()
            return Glibc.write(descriptor, bytes, count)
        }
        let file = FileSink(destination: folder.path + "/file", calls: calls)
        try await test(file, writes, letGo, folder)
    }

    @Test func takingWaitsForNoDisk() async throws {
        try await withHeldFile { file, writes, letGo, folder in
            let body = [UInt8](bytes(3 << 20))
            let writer = FileWriter(file, group: .program) { writes.add("goes on") }
            body.withUnsafeBytes { writer.take($0, left: Int64(body.count)) }
            #expect(writer.pauses())
            await writes.wait(for: 1)
            // The file is the writer's: it is removed when the disk has returned.
            #expect(Self.openFiles(in: folder) == 1)
            for _ in 0..<12 { letGo.signal() }
            let ended = Trace()
            if case .done = writer.end({ ended.add("ended") }) { ended.add("ended") }
            await ended.wait(for: 1)
            #expect(writes.count("goes on") == 1)
            try file.commit()
            #expect(folder.contents(of: "file") == Data(body))
        }
    }

    @Test func aFileThatIsDiscardedMeanwhileIsRemovedAfterwards() async throws {
        try await withHeldFile { file, writes, letGo, folder in
            let writer = FileWriter(file, group: .program) {}
            [UInt8](bytes(64 << 10)).withUnsafeBytes { writer.take($0, left: 64 << 10) }
            await writes.wait(for: 1)
            file.discard()
            #expect(Self.openFiles(in: folder) == 1)
            let ended = Trace()
            guard case .waits = writer.end({ ended.add("ended") }) else { return #expect(Bool(false)) }
            letGo.signal()
            await ended.wait(for: 1)
            while Self.openFiles(in: folder) > 0 { await Task.yield() }
            #expect(folder.names.isEmpty)
        }
    }

    @Test func whyWritingFailedIsToldAtTheEnd() async throws {
        var calls = FileCalls.system
        calls.write = { _, _, _ in
            errno = ENOSPC
            return -1
        }
        let (folder, heard) = (TemporaryFolder(), Trace())
        let file = FileSink(destination: folder.path + "/file", calls: calls)
        let writer = FileWriter(file, group: .program) { heard.add("changed") }
        [UInt8](bytes(16 << 10)).withUnsafeBytes { writer.take($0, left: 16 << 10) }
        await heard.wait(for: 1)
        #expect(writer.failure?.code == .diskFull)
        if case .waits = writer.end({ heard.add("ended") }) { await heard.wait(for: 2) }
        file.discard()
        #expect(folder.names.isEmpty)
    }

    // MARK: Reading ahead: the decisions

    @Test func piecesAreReadAheadAndNoFurther() throws {
        var state = ReadAheadState<Int>(length: 25, pieceBytes: 10, depth: 2)
        let first = try begin(&state)
        #expect((first.offset, first.count) == (0, 10))
        check(state.begin(), nil)
        guard case .notYet = state.take() else { return #expect(Bool(false)) }
        let answer = state.received(1, count: 10, first)
        #expect(answer == Received(isKept: true, wakes: true))
        let second = try begin(&state)
        check(state.received(2, count: 10, second), Received(isKept: true, wakes: false))
        check(state.begin(), nil)
        check(state.sent(4), nil)
        guard case .piece(1, 6, 4) = state.take() else { return #expect(Bool(false)) }
        check(state.sent(6), 1)
        let third = try begin(&state)
        #expect((third.offset, third.count) == (20, 5))
    }

    @Test func whatIsReadForAnEarlierBeginningIsNotSent() throws {
        var state = ReadAheadState<Int>(length: 30, pieceBytes: 10, depth: 2)
        let first = try begin(&state)
        check(state.rewind(to: 20).isEmpty, true)
        check(state.received(1, count: 10, first), Received(isKept: false, wakes: false))
        let again = try begin(&state)
        #expect(again.offset == 20)
        check(state.received(2, count: 0, again), Received(isKept: false, wakes: false))
        guard case .short = state.take() else { return #expect(Bool(false)) }
    }

    @Test func aFileIsClosedByTheLastThatReadsIt() throws {
        var state = ReadAheadState<Int>(length: 30, pieceBytes: 10, depth: 2)
        let reading = try begin(&state)
        check(state.close(), false)
        check(state.received(1, count: 10, reading), Received(isKept: false, wakes: false))
        #expect(state.isClosed)
        check(state.begin(), nil)
    }

    /// The network thread asks, and is told that there is nothing yet.
    @Test func anUploadWaitsForNoDisk() async throws {
        let (folder, reads, letGo) = (TemporaryFolder(), Trace(), DispatchSemaphore(value: 0))
        let body = bytes(600_000)
        letGo.signal()
        let path = folder.write(body, to: "file")
        let file = try UploadFile(path, group: .program) { descriptor, buffer, offset in
            reads.add("read")
            letGo.wait()
            return pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset))
        }
        file.begin { reads.add("ready") }
        await reads.wait(for: 2)
        var sent = Data()
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 100_000, alignment: 1)
        defer { buffer.deallocate() }
        func sendAll() {
            while case .bytes(let count) = file.take(into: buffer), count > 0 { sent.append(contentsOf: buffer[..<count]) }
        }
        sendAll()
        #expect(sent.count == 256 << 10)
        letGo.signal()
        letGo.signal()
        while sent.count < body.count {
            sendAll()
            await Task.yield()
        }
        #expect(sent == body)
        file.end()
    }
}
