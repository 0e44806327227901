import CleanSlate
import Foundation
import ScopedNetTesting
import Testing

@testable import ScopedNet

/// The values of several requests.
@Suite(.leavesNothing, .timeLimit(.minutes(5))) struct SessionValuesTests {
    private func requests(_ session: Session, _ count: Int) -> [Request<String>] {
        (0..<count).map { session.request("http://h/\($0)", decoder: .text) }
    }

    @Test func valuesComeInTheOrderOfTheRequests() async throws {
        try await withStage { session, transport async throws in
            async let values = session.values(of: requests(session, 3))
            await transport.waitForStarts(3)
            for exchange in transport.started.reversed() { transport.succeed(exchange, body: exchange.path) }
            #expect(try await values == ["/0", "/1", "/2"])
            #expect(try await session.values(of: [Request<String>]()).isEmpty)
        }
    }

    @Test func noMoreAreStartedThanTheLimit() async throws {
        try await withStage { session, transport async throws in
            async let values = session.values(of: requests(session, 4), atMost: 2)
            for number in 0..<4 {
                await transport.waitForStarts(min(4, number + 2))
                #expect(transport.started.count <= number + 2)
                let next = try #require(transport.started.first { $0.path == "/\(number)" })
                transport.succeed(next, body: "\(number)")
            }
            #expect(try await values == ["0", "1", "2", "3"])
        }
    }

    @Test func theFirstErrorCancelsTheRest() async throws {
        try await withStage { session, transport async throws in
            async let values = session.values(of: requests(session, 3))
            await transport.waitForStarts(3)
            let failing = try #require(transport.started.first { $0.path == "/1" })
            transport.fail(failing, .connectionRefused)
            do {
                _ = try await values
                Issue.record("no error")
            } catch let error as NetworkError { #expect(error.code == .connectionRefused && error.url == "http://h/1") }
            #expect(transport.cancelled.count == 2)
        }
    }

    @Test func aCancelledTaskCancelsAll() async throws {
        try await withStage { session, transport async throws in
            let task = Task { () -> NetworkError? in
                do throws(NetworkError) { _ = try await session.values(of: requests(session, 3)) } catch { return error }
                return nil
            }
            await transport.waitForStarts(3)
            task.cancel()
            #expect(await task.value?.cancelReason == .taskCancelled)
            #expect(transport.cancelled.count == 3)
        }
    }

    @Test func valuesOfDifferentTypes() async throws {
        try await withStage { session, transport async throws in
            transport.on("/number", .json("7"))
            transport.on("/text", .ok("seven"))
            let (number, text) = try await session.values(
                of: session.get("http://h/number", as: Int.self), session.request("http://h/text", decoder: .text))
            #expect(number == 7 && text == "seven")
        }
    }

    @Test func ofDifferentTypesTheFirstErrorCancelsTheRest() async throws {
        try await withStage { session, transport async throws in
            let bag = DeallocBag()
            async let values = session.values(
                of: session.get("http://h/slow", as: Int.self), session.request("http://h/text", decoder: .text), in: bag)
            await transport.waitForStarts(2)
            #expect(bag.count == 2)
            let failing = try #require(transport.started.first { $0.path == "/text" })
            transport.fail(failing, .connectionLost)
            do {
                _ = try await values
                Issue.record("no error")
            } catch let error as NetworkError { #expect(error.code == .connectionLost) }
            #expect(transport.cancelled.count == 1)
        }
    }
}
