import CleanSlate
import Foundation
import ScopedNetTesting
import Testing

@_spi(Transport) @testable import ScopedNet

/// Bodies read line by line.
@Suite(.leavesNothing, .timeLimit(.minutes(5))) struct StreamedLinesTests {
    private func lines(_ text: String, piece: Int, limit: Int = 100) throws(LineSplitter.Failure) -> [String] {
        var splitter = LineSplitter(limit: limit)
        var lines: [String] = []
        var rest = Data(text.utf8)
        while !rest.isEmpty {
            // A slice begins at an index of its own.
            splitter.append(rest.prefix(piece))
            rest = rest.dropFirst(piece)
            while let line = try splitter.next() { lines.append(line) }
        }
        if let line = try splitter.finish() { lines.append(line) }
        return lines
    }

    private static let texts: [(String, [String])] = [
        ("", []), ("a", ["a"]), ("a\n", ["a"]), ("a\r\nb", ["a", "b"]), ("\n\r\n", ["", ""]), ("a\rb\n", ["a\rb"]), ("a\r\r\n", ["a\r"]),
        ("a\r", ["a\r"]), ("ä€😀\nx", ["ä€😀", "x"]),
    ]

    @Test(arguments: texts)
    func linesAreTheSameHoweverTheBytesArrive(_ text: String, _ expected: [String]) throws {
        for piece in 1...8 { #expect(try lines(text, piece: piece) == expected) }
    }

    @Test(arguments: 1...6) func theLimitCountsTheLineAlone(_ piece: Int) throws {
        #expect(try lines("1234\r\n1234\n1234", piece: piece, limit: 4) == ["1234", "1234", "1234"])
        for text in ["12345", "12345\n", "1\n12345\r\n"] {
            #expect(throws: LineSplitter.Failure.tooLong) { try lines(text, piece: piece, limit: 4) }
        }
    }

    @Test func invalidBytesAreReplaced() throws {
        var splitter = LineSplitter(limit: 10)
        splitter.append(Data([0x61, 0xFF, 0x0A]))
        #expect(try splitter.next() == "a\u{FFFD}")
    }

    private func session(_ text: String) -> Session {
        let transport = MockTransport { _ in .ok(text).inPieces(of: 1) }
        return Session(configuration: .init(customTransport: transport, agent: RequestAgent()))
    }

    @Test func aStreamHasLines() async throws {
        var lines: [String] = []
        for try await line in try await session("a\r\n\nb").stream("http://h/").lines { lines.append(line) }
        #expect(lines == ["a", "", "b"])
    }

    @Test func aLineThatIsTooLongFailsAndEndsTheRun() async throws {
        let session = session("ok\n12345\nnever")
        let response = try await session.stream("http://h/")
        var lines: [String] = []
        var failure: NetworkError?
        do throws(NetworkError) {
            for try await line in response.bytes.lines(maxBytes: 4) { lines.append(line) }
        } catch { failure = error }
        #expect(lines == ["ok"])
        #expect(failure?.code == .bodyTooLarge && failure?.url == "http://h/")
        await session.agent.waitUntilIdle()
        #expect(session.agent.liveCount == 0)
    }
}
