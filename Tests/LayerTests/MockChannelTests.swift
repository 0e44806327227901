import CleanSlate
import Foundation
import ScopedNet
import ScopedNetTesting
import Testing

/// Channels at a mock, as the tests of a layer outside of the package use them: ``MockChannel``.
@Suite(.leavesNothing, .noLeaks, .timeLimit(.minutes(1))) struct MockChannelTests {
    @Test func theMockHasAnotherSide() async throws {
        let session = MockTransport.session("http://mock.test/")
        let channel = try await DuplexChannel.open("socket", with: session)
        let server = await session.mock.channel(0)
        #expect(server.url == "http://mock.test/socket")
        try await channel.send(Data("ping".utf8))
        #expect(await server.receive() == Data("ping".utf8))
        await server.send(Data("pong".utf8))
        var bytes = channel.bytes.makeAsyncIterator()
        #expect(try await bytes.next() == Data("pong".utf8))
        server.close()
        #expect(try await bytes.next() == nil)
        #expect(await server.receive() == nil && server.isEnded)
        session.mock.refuseChannels(with: .connectionRefused)
        let error = await #expect(throws: NetworkError.self) { try await DuplexChannel.open("socket", with: session) }
        #expect(error?.code == .connectionRefused)
        await session.shutdown()
    }

    /// The sample of the article, and a server that answers each line.
    @Test func aServerOfLinesIsAsked() async throws {
        let session = MockTransport.session("http://mock.test/")
        let bag = DeallocBag()
        async let answers = ask(["one", "two"], at: "lines", with: session, in: bag)
        let server = await session.mock.channel(0)
        for question in ["one", "two"] {
            #expect(await server.receive() == Data("\(question)\r\n".utf8))
            await server.send(Data("\(question)!".utf8))
        }
        server.close()
        #expect(try await answers == "one!two!")
        await session.agent.waitUntilIdle()
    }
}
