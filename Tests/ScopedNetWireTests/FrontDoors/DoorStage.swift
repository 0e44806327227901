import Foundation
import ScopedNetTestServer
import ScopedNetTesting
import Testing

@_spi(Transport) @testable import ScopedNet

/// What carries the requests of a test: a mock, or libcurl and a server.
enum Carrier: CaseIterable, Sendable {
    case mock, curl
}

/// An answer that both carriers can give.
enum DoorAnswer: Sendable {
    case ok(String)
    case json(String)
    case status(Int)
    case redirect(String)
    /// The connection ends without a response.
    case hangUp
    /// The request arrives, and then nothing happens.
    case silence
    /// A body of this many bytes, in more than one piece.
    case body(Int)
}

/// One session, and the other end of it, scripted alike for both carriers.
struct DoorStage: Sendable {
    enum OtherEnd: Sendable {
        case mock(MockTransport)
        case server(LoopbackServer)
    }

    let session: Session
    let other: OtherEnd

    func url(_ path: String) -> String {
        switch other {
        case .mock: "http://mock.test" + path
        case .server(let server): server.url + path
        }
    }

    func request(_ path: String, _ change: (inout RequestOptions) -> Void = { _ in }) -> Request<Data> {
        session.request(url(path)).options(change)
    }

    /// Answers every request for a path.
    func on(_ path: String, _ answer: DoorAnswer) {
        switch other {
        case .mock(let mock): if let reply = answer.reply { mock.on(path, reply) }
        case .server(let server): server.on(path, answer.response)
        }
    }

    /// Answers the next request.
    func enqueue(_ answer: DoorAnswer) {
        switch other {
        case .mock(let mock): if let reply = answer.reply { mock.enqueue(reply) }
        case .server(let server): server.enqueue(answer.response)
        }
    }

    /// Waits until a request has arrived and stands still.
    func waitForSilence() async throws {
        switch other {
        case .mock(let mock): await mock.waitForExchanges(1)
        case .server(let server): try await server.waitForStalls(1)
        }
    }

    /// How many requests arrived.
    var arrivals: Int {
        switch other {
        case .mock(let mock): mock.exchanges.count
        case .server(let server): server.requests.count
        }
    }
}

extension DoorAnswer {
    fileprivate var reply: MockReply? {
        switch self {
        case .ok(let text): .ok(text)
        case .json(let text): .json(text)
        case .status(let status): .status(status)
        case .redirect(let location): .redirect(to: location)
        case .hangUp: .failing(.connectionLost)
        case .silence: nil
        case .body(let count): MockReply(body: Data(repeating: 7, count: count)).inPieces(of: max(1, count / 4))
        }
    }

    fileprivate var response: ScriptedResponse {
        switch self {
        case .ok(let text): .ok(text)
        case .json(let text): .json(text)
        case .status(let status): .status(status)
        case .redirect(let location): .redirect(to: location)
        case .hangUp: ScriptedResponse.ok().ending(.hangUp)
        case .silence: ScriptedResponse.ok("late").stalling(.beforeHead)
        case .body(let count): .ok(.repeating(7, count: count))
        }
    }
}

extension Carrier {
    /// Sets the stage, and looks at its end that every slot was given back and that nobody is there any more.
    func withStage(
        _ change: (inout Session.Configuration) -> Void = { _ in }, _ test: (DoorStage) async throws -> Void
    ) async throws {
        switch self {
        case .mock:
            let mock = MockTransport(unanswered: .wait)
            var configuration = Session.Configuration(customTransport: mock, agent: RequestAgent())
            change(&configuration)
            let session = Session(configuration: configuration)
            try await test(DoorStage(session: session, other: .mock(mock)))
            try await end(session)
        case .curl:
            try await withLoopbackServer { server in
                var configuration = Session.Configuration(agent: RequestAgent())
                configuration.proxy = .none
                change(&configuration)
                let session = Session(configuration: configuration)
                try await test(DoorStage(session: session, other: .server(server)))
                try await end(session)
                try await server.waitForOpenConnections { $0 == 0 }
            }
        }
    }

    private func end(_ session: Session) async throws {
        await session.agent.waitUntilIdle()
        #expect(session.agent.liveCount == 0)
        await session.shutdown()
        #expect(session.admission.activeCount == 0, "a slot was not given back")
        #expect(session.admission.waitingCount == 0)
    }
}
