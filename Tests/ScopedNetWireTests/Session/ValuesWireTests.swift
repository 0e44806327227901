import CleanSlate
import Foundation
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// Several requests for their values, as the server sees them: the number at a time, and the end of the rest with the first error.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(3)))
struct ValuesWireTests {
    private struct Item: Codable, Sendable, Equatable { var id: Int }

    /// A server that never answers `/slow/…`, and answers `/bad` with 404 when the test says so.
    private func withSlowServer(_ test: (House, Latch) async throws -> Void) async throws {
        try await withHouse { house async throws in
            let latch = Latch()
            house.server.on("/slow/*", ScriptedResponse.ok("late").stalling(.beforeHead))
            house.server.on("/bad") { _ in
                await latch.wait()
                return .status(404)
            }
            do { try await test(house, latch) } catch {
                latch.open()
                throw error
            }
        }
    }

    /// The ends of the requests for `/slow/…`, in the order of their paths.
    private func endings(_ house: House) async throws -> [ResponseEnding] {
        var endings: [ResponseEnding] = []
        for request in house.server.requests.filter({ $0.path.hasPrefix("/slow") }).sorted(by: { $0.path < $1.path }) {
            endings.append(try await request.ending())
        }
        return endings
    }

    private func failure<Value: Sendable>(_ task: Task<Value, any Error>) async -> NetworkError? {
        do {
            _ = try await task.value
            return nil
        } catch { return error as? NetworkError }
    }

    @Test func theFirstErrorEndsTheRestOnTheWire() async throws {
        try await withSlowServer { house, latch async throws in
            let paths = ["/slow/1", "/slow/2", "/bad", "/slow/3"]
            let task = Task { try await house.session.values(of: paths.map { house.session.get(house.url($0), as: String.self) }) }
            try await house.server.waitForStalls(3)
            try await house.server.waitForRequests(4)
            #expect(house.server.openConnections == 4)
            latch.open()
            let error = await failure(task)
            #expect(error?.status == 404 && error?.url == house.url("/bad"))
            // Nothing was released here: each transfer ended because the client closed its connection.
            #expect(try await endings(house) == [.clientClosed, .clientClosed, .clientClosed])
            try await house.server.waitForOpenConnections { $0 <= 1 }
            #expect(house.server.requests.count == 4)
        }
    }

    @Test func afterTheFirstErrorNoFurtherRequestIsSent() async throws {
        try await withSlowServer { house, latch async throws in
            let paths = ["/slow/1", "/bad", "/slow/2", "/slow/3"]
            let task = Task {
                try await house.session.values(of: paths.map { house.session.get(house.url($0), as: String.self) }, atMost: 2)
            }
            try await house.server.waitForStalls(1)
            try await house.server.waitForRequests(2)
            latch.open()
            let error = await failure(task)
            #expect(error?.status == 404)
            #expect(try await endings(house) == [.clientClosed])
            await house.agent.waitUntilIdle()
            #expect(Set(house.server.requests.map(\.path)) == ["/slow/1", "/bad"])
        }
    }

    @Test func noMoreAreOnTheWireThanTheLimit() async throws {
        try await withHouse { house async throws in
            let started = Gathered<String>()
            house.server.on("/item/*") { request in
                started.add(request.path)
                // Of each two that are there together the first one answers last.
                let isOdd = started.all.count % 2 == 1
                return ScriptedResponse.json(#"{"id": \#(request.path.suffix(1))}"#).delayed(by: .milliseconds(isOdd ? 30 : 0))
            }
            let requests = (1...6).map { house.session.get(house.url("/item/\($0)"), as: Item.self) }
            let items = try await house.session.values(of: requests, atMost: 2)
            #expect(items.map(\.id) == [1, 2, 3, 4, 5, 6])
            #expect(house.server.requests.count == 6 && house.server.maxConcurrentRequests <= 2 && house.server.connectionsAccepted <= 2)
        }
    }

    @Test func ofDifferentTypesTheFirstErrorEndsTheRestOnTheWire() async throws {
        try await withSlowServer { house, latch async throws in
            let session = house.session
            let task = Task {
                try await session.values(
                    of: session.get(house.url("/slow/1"), as: Item.self), session.get(house.url("/bad"), as: String.self),
                    session.get(house.url("/slow/2")))
            }
            try await house.server.waitForStalls(2)
            try await house.server.waitForRequests(3)
            latch.open()
            let error = await failure(task)
            #expect(error?.status == 404)
            #expect(try await endings(house) == [.clientClosed, .clientClosed])
        }
    }

    @Test func aCancelledTaskEndsAllOnTheWire() async throws {
        try await withSlowServer { house, _ async throws in
            let paths = ["/slow/1", "/slow/2", "/slow/3"]
            let task = Task {
                try await house.session.values(of: paths.map { house.session.get(house.url($0), as: String.self) }, atMost: 2)
            }
            try await house.server.waitForStalls(2)
            task.cancel()
            let error = await failure(task)
            #expect(error?.cancelReason == .taskCancelled)
            #expect(try await endings(house) == [.clientClosed, .clientClosed])
            await house.agent.waitUntilIdle()
            #expect(house.server.requests.count == 2)
        }
    }
}
