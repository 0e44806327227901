import CleanSlate
import Foundation
import ScopedNet
import Testing

@testable import ScopedNetTool

@Suite(.leavesNothing) struct JSONLayoutTests {
    private func laidOut(_ text: String) -> String? { JSONLayout.indented(text.utf8).map { String(decoding: $0, as: UTF8.self) } }

    @Test func membersAndElementsGetLines() {
        let text = laidOut(#"{"b":1,"a":[1.50,{"x":null}],"e":{},"f":[ ]}"#)
        #expect(text == "{\n  \"b\": 1,\n  \"a\": [\n    1.50,\n    {\n      \"x\": null\n    }\n  ],\n  \"e\": {},\n  \"f\": []\n}\n")
    }

    /// Order, numbers, escapes, names that repeat: all as the server wrote it.
    @Test(arguments: [#"{"z":1e400,"a":12345678901234567890,"z":2}"#, #"["\u00e4\"\\", "{[,:]}"]"#, "3", #""text""#, "[[[]]]", "{}"])
    func nothingIsChangedButBlanks(_ text: String) throws {
        let lines = try #require(laidOut(text))
        #expect(lines.filter { !$0.isWhitespace } == text.filter { !$0.isWhitespace })
        #expect(laidOut(lines) == lines)
    }

    @Test(arguments: ["", " ", "{", "]", "[}", "{]", #"""#, #""\""#, "[1,2", "}{", "[1 2]", #"{"a" "b"}"#]) func whatDoesNotFitIsLeftAlone(
        _ text: String
    ) {
        #expect(laidOut(text) == nil)
    }

    /// Blanks are all that keeps them apart.
    @Test func documentsInARowStayApart() { #expect(laidOut("{\"a\":1}\n{}\n\n1 2\n") == "{\n  \"a\": 1\n}\n{}\n1\n2\n") }

    @Test func depthHasAnEnd() {
        let deep = String(repeating: "[", count: 1_000) + String(repeating: "]", count: 1_000)
        #expect(laidOut(deep) != nil && laidOut("[" + deep + "]") == nil)
    }
}

@Suite(.leavesNothing) struct JSONTextTests {
    @Test func whatSteersATerminalIsEscaped() throws {
        let value = ["a\u{9B}2J", "b\u{202E}c\u{7F}", "\u{2028}", "plain ä €"]
        let line = try JSONText.line(value)
        #expect(line == #"["a\u009b2J","b\u202ec\u007f","\u2028","plain ä €"]"#)
        #expect(try JSONDecoder().decode([String].self, from: Data(line.utf8)) == value)
    }
}

@Suite(.leavesNothing) struct TimingTableTests {
    @Test func everyStepHasALine() {
        var metrics = TransferMetrics()
        metrics.nameLookup = .microseconds(450)
        metrics.connect = .milliseconds(2)
        metrics.firstByte = .milliseconds(1_234)
        metrics.total = .milliseconds(12_345)
        metrics.bodyBytesReceived = 4_000
        metrics.headerBytesReceived = 96
        metrics.requestBytes = 120
        metrics.httpVersion = "1.1"
        metrics.remoteAddress = "192.0.2.1"
        metrics.remotePort = 443
        #expect(
            TimingTable.lines(metrics) == [
                "name lookup   0.5 ms", "connect       2.0 ms", "TLS           -", "request sent  -", "first byte    1234.0 ms",
                "total         12.3 s", "sent          120 B", "received      4.0 KiB", "connection    new, to 192.0.2.1 port 443",
                "protocol      HTTP/1.1",
            ])
        metrics.isConnectionReused = true
        #expect(TimingTable.lines(metrics)[8] == "connection    reused, to 192.0.2.1 port 443")
        #expect(TimingTable.lines(TransferMetrics())[8...] == ["connection    none", "protocol      none"])
    }
}

@Suite(.leavesNothing) struct HeadTextTests {
    @Test func whatAServerSaysCannotSteerTheTerminal() {
        let text = HeadText.lines(ResponseHead(status: 200, headers: [.init("X-A")!: "1"]))
        #expect(text.hasSuffix(" 200\nX-A: 1\n\n") && text.hasPrefix("HTTP/"))
    }
}
