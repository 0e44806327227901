import CleanSlate
import Foundation
import ScopedNetTesting
import Testing

@testable import ScopedNet

@Suite(.leavesNothing) struct ProgressMeterTests {
    private func meter(_ counts: [(milliseconds: UInt64, bytes: Int64)], total: Int64? = 10_000) -> [Run.Progress] {
        var meter = ProgressMeter()
        return counts.map {
            let counts = TransferProgress(completed: $0.bytes, total: total)
            return meter.progress(.receiving, counts, now: 5_000_000_000 + $0.milliseconds * 1_000_000)
        }
    }

    @Test func theRateIsThatOfTheLastSeconds() {
        let all = meter([(0, 1000), (50, 1100), (1000, 2000), (2000, 4000)])
        #expect(all.map(\.bytesPerSecond) == [nil, nil, 1000, 1500])
        #expect(all[3].fraction == 0.4 && all[3].timeLeft == .seconds(4))
        // 1,000 bytes a second for 60 seconds, then 2,000: four seconds later the first is forgotten.
        var counts: [(milliseconds: UInt64, bytes: Int64)] = []
        for step in 0...120 { counts.append((UInt64(step) * 500, Int64(step) * 500)) }
        for step in 1...12 { counts.append((60_000 + UInt64(step) * 500, 60_000 + Int64(step) * 1000)) }
        let rates = meter(counts, total: nil).compactMap(\.bytesPerSecond)
        #expect(rates.dropLast(12).allSatisfy { abs($0 - 1000) < 1 })
        #expect(rates.last.map { abs($0 - 2000) < 1 } == true)
    }

    @Test func whatStandsStillHasNoTimeLeft() {
        let all = meter([(0, 1000), (1000, 1000)])
        #expect(all[1].bytesPerSecond == 0 && all[1].timeLeft == nil)
        #expect(meter([(0, 0), (1000, 1000)], total: nil)[1].timeLeft == nil)
        #expect(meter([(0, 0), (1000, 1000)], total: nil)[1].fraction == nil)
        #expect(meter([(0, 0), (1000, 20_000)])[1].timeLeft == .zero)
    }

    @Test func aCountThatGoesBackBeginsAnew() {
        #expect(meter([(0, 0), (1000, 5000), (2000, 100), (2050, 200), (3000, 600)]).map(\.bytesPerSecond) == [nil, 5000, nil, nil, 500])
    }

    @Test func itSaysItInOneLine() {
        let progress = Run.Progress(direction: .receiving, bytes: 1 << 20, total: 10 << 20, bytesPerSecond: 1_048_576)
        #expect(progress.description == "received 1 MiB of 10 MiB, 1 MiB/s, 9 s left")
        #expect(Run.Progress(direction: .sending, bytes: 5, total: nil, bytesPerSecond: nil).description == "sent 5 B")
    }
}

@Suite(.leavesNothing, .timeLimit(.minutes(5))) struct RunSequenceTests {
    @Test func progressEndsWithTheWholeAndTheResponseIsThere() async throws {
        let session = MockTransport.session()
        session.mock.on("x", .ok(String(repeating: "x", count: 1000)).inPieces(of: 100))
        let request = session.request("x")
        var last: Run.Progress?
        for try await progress in request.progress {
            #expect(progress.bytes >= last?.bytes ?? 0)
            last = progress
        }
        #expect(last?.bytes == 1000 && last?.fraction == 1 && last?.direction == .receiving)
        #expect(try request.result?.get().value.count == 1000)
        #expect(session.mock.exchanges.count == 1)
        // Each iteration is a run of its own.
        for try await _ in request.progress {}
        #expect(session.mock.exchanges.count == 2)
    }

    @Test func aSlowReaderGetsTheNewest() async throws {
        let session = MockTransport.session(unanswered: .wait) { $0.use(ManualClock()) }
        let request = session.request("x")
        var reader = request.progress.makeAsyncIterator()
        // The run begins with the first read, which waits; so the exchange is served beside it.
        let serving = Task {
            let exchange = await session.mock.exchange(0)
            exchange.receiveHead(headers: [.contentLength: "100"])
            exchange.reportReceived(10, of: 100)
        }
        let begun = try await reader.next()
        await serving.value
        #expect(begun?.bytes == 10)
        let exchange = await session.mock.exchange(0)
        for count in 11...60 { exchange.reportReceived(Int64(count), of: 100) }
        let seen = Trace()
        session.configuration.deliveryQueue.async { seen.add("delivered") }
        await seen.wait(for: 1)
        let next = try await reader.next()
        #expect(next?.bytes == 60)
        exchange.fail(.connectionLost)
        var failure: (any Error)?
        do { while try await reader.next() != nil {} } catch { failure = error }
        let error = failure as? NetworkError
        #expect(error?.code == .connectionLost && error?.url == "http://mock.test/x")
    }

    @Test func leavingTheLoopCancels() async throws {
        let session = MockTransport.session(unanswered: .wait)
        let request = session.request("x")
        let reading = Task {
            for try await _ in request.progress { break }
        }
        let exchange = await session.mock.exchange(0)
        exchange.receiveHead(headers: [.contentLength: "100"])
        exchange.reportReceived(10, of: 100)
        try await reading.value
        await session.agent.waitUntilIdle()
        #expect(exchange.isCancelled && request.status.cancelReason == .explicit)
    }

    @Test func theTaskAndTheBagCancel() async throws {
        let session = MockTransport.session(unanswered: .wait)
        let request = session.request("x")
        let reading = Task {
            for try await _ in request.progress {}
        }
        _ = await session.mock.exchange(0)
        reading.cancel()
        var error = await #expect(throws: NetworkError.self) { try await reading.value }
        #expect(error?.cancelReason == .taskCancelled)
        var bag: DeallocBag? = DeallocBag()
        let sequence = request.progress(in: try #require(bag))
        let second = Task {
            for try await _ in sequence {}
        }
        _ = await session.mock.exchange(1)
        bag = nil
        error = await #expect(throws: NetworkError.self) { try await second.value }
        #expect(error?.cancelReason == .ownerReleased)
        // Begun in an ended bag it sends nothing.
        error = await #expect(throws: NetworkError.self) {
            for try await _ in sequence {}
        }
        #expect(error?.cancelReason == .ownerReleased)
        #expect(session.mock.exchanges.count == 2)
    }

    @Test func aRefusedStartIsItsError() async throws {
        let session = MockTransport.session(unanswered: .wait) { $0.options.repeats = .keepRunning }
        let request = session.request("x")
        let run = request.start()
        let error = await #expect(throws: NetworkError.self) {
            for try await _ in request.progress {}
        }
        #expect(error?.code == .duplicateRequest)
        for await _ in request.events { Issue.record("the run is another one") }
        run.cancel()
        await session.agent.waitUntilIdle()
    }

    private func names(_ request: Request<Data>) async -> [String] {
        var names: [String] = []
        for await event in request.events {
            let name = Mirror(reflecting: event.kind).children.first?.label ?? "\(event.kind)"
            if name != names.last { names.append(name) }
        }
        return names
    }

    @Test func eventsAreThoseOfTheRunAlone() async throws {
        let session = MockTransport.session { $0.options.retry = RetryPolicy(maxAttempts: 2, backoffBase: .zero) }
        session.mock.on(.get, "x", [.status(503), .ok("body")])
        session.mock.on(.get, "other", .ok())
        let request = session.request("x")
        // A task: Swift 6.3 crashes at an `async let` of a closure that throws one type of error.
        let other = Task { try await session.send("other") }
        let names = await names(request)
        _ = try await other.value
        #expect(names.first == "created" && names.last == "finished")
        let expected = ["started", "headReceived", "attemptFinished", "retryDecided"]
        #expect(names.filter { expected.contains($0) } == expected + expected.dropLast())
        #expect(try request.result?.get().text == "body")
    }

    @Test func aCancelledRunEndsWithCancelled() async throws {
        let session = MockTransport.session(unanswered: .wait)
        let request = session.request("x")
        let reading = Task { await names(request) }
        _ = await session.mock.exchange(0)
        request.cancel()
        #expect(await reading.value.last == "cancelled")
        let observed = EventRecorder()
        let both = session.with { $0.observers = [observed] }
        let second = both.request("y")
        let more = Task { await names(second) }
        await session.mock.exchange(1).respond(.ok())
        #expect(await more.value.last == "finished")
        #expect(!observed.events.isEmpty)
    }

    @Test func aReaderThatIsFarBehindLosesTheOldest() async throws {
        let channel = RunChannel<Int>(limit: 3)
        for number in 1...5 { channel.send(number) }
        channel.send(6) { $0 == 5 }
        channel.finish(NetworkError(.other, phase: .receiving, message: ""))
        channel.send(7)
        var read: [Int] = []
        do throws(NetworkError) {
            while let number = try await channel.next() { read.append(number) }
        } catch { read.append(-1) }
        #expect(read == [3, 4, 6, -1])
        #expect(try await channel.next() == nil)
    }
}
