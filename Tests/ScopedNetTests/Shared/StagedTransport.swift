import FoundationEssentials
@_spi(Transport) import ScopedNetTesting
import Testing

@_spi(Transport) @testable import ScopedNet

/// The mock transport, taken by hand throughout: short words for the steps the engine's tests are made of.
typealias StagedTransport = MockTransport

extension MockTransport {
    var started: [MockExchange] { exchanges }
    var cancelled: [TransferID] { cancellations }
    var suspended: [MockExchange] { exchanges.filter(\.isSuspended) }

    func waitForStarts(_ count: Int) async { await waitForExchanges(count) }

    func received(_ exchange: MockExchange, _ count: Int64, of total: Int64?) { exchange.reportReceived(count, of: total) }

    func finish(_ exchange: MockExchange, _ result: TransferResult) { exchange.finish(result) }

    func succeed(_ exchange: MockExchange, body: String = "ok", status: Int = 200) { exchange.respond(.status(status, body)) }

    func fail(_ exchange: MockExchange, _ code: NetworkError.Code = .connectionLost) { exchange.fail(code) }
}

func withStage(
    endsCancelled: Bool = true, _ change: (inout Session.Configuration) -> Void = { _ in },
    _ body: (Session, StagedTransport) async throws -> Void
) async throws {
    let transport = StagedTransport(unanswered: .wait, endsCancelled: endsCancelled)
    var configuration = Session.Configuration(customTransport: transport, agent: RequestAgent())
    change(&configuration)
    let session = Session(configuration: configuration)
    try await body(session, transport)
    await session.agent.waitUntilIdle()
    #expect(session.agent.liveCount == 0)
}
