import CleanSlate
import Foundation
import ScopedNet
import Testing

@testable import ScopedNetTool

@Suite(.leavesNothing) struct ProgressBarTests {
    private func line(_ completed: Int64, _ total: Int64?, _ seconds: Double, _ width: Int) -> String {
        ProgressBar.line(TransferProgress(completed: completed, total: total), elapsed: .seconds(seconds), width: width)
    }

    @Test func aKnownLengthHasABarAndTheTimeLeft() {
        #expect(line(512 << 10, 1 << 20, 2, 80) == "[============>            ]   50%  512.0 KiB of 1.0 MiB  256.0 KiB/s  0:02 left")
    }

    @Test func anUnknownLengthHasCountRateAndTime() { #expect(line(3 << 20, nil, 3, 80) == "3.0 MiB  1.0 MiB/s  0:03") }

    @Test func theEndIsAFullBar() {
        let full = line(100, 100, 1, 200)
        #expect(full == "[\(String(repeating: "=", count: 40))]  100%  100 B of 100 B  100 B/s  0:01")
    }

    @Test(arguments: [0, 1, 2, 10, 20, 39, 40, 60, 80, 200]) func itNeverTouchesTheLastColumn(_ width: Int) {
        for total in [nil, 0, 1, 1 << 40] as [Int64?] {
            for seconds in [0, 0.5, 1e9] {
                #expect(line(total ?? 7, total, seconds, width).count <= max(0, width - 1))
            }
        }
    }

    @Test func nothingYetIsNoDivisionByZero() {
        #expect(line(0, 1_000, 0, 80).contains("0% "))
        #expect(line(0, 0, 0, 80).contains("100%"))
    }

    @Test(arguments: [
        (Int64(-5), "0 B"), (0, "0 B"), (1_023, "1023 B"), (1_024, "1.0 KiB"), (1_048_575, "1.0 MiB"), (1 << 20, "1.0 MiB"),
        (1_536 << 20, "1.5 GiB"), (.max, "8.0 EiB"),
    ])
    func sizesReadWell(_ count: Int64, _ text: String) { #expect(ProgressBar.bytes(count) == text) }

    @Test(arguments: [(0.0, "0:00"), (7.9, "0:07"), (61, "1:01"), (3_723, "1:02:03"), (1e12, "99:59:59"), (-1, "0:00")])
    func timesReadWell(_ seconds: Double, _ text: String) { #expect(ProgressBar.clock(seconds) == text) }
}

@Suite(.leavesNothing) struct ExitStatusTests {
    @Test func everyCodeHasAStatusAndOnlyTheUnknownOnesAreSoftware() {
        let codes: [NetworkError.Code] = [
            .invalidURL, .unsupportedScheme, .invalidHeader, .invalidOption, .bodyNotReplayable, .bodyStreamFailed, .fileUnreadable,
            .fileUnwritable, .diskFull, .targetInUse, .nameNotResolved, .proxyNotResolved, .connectionRefused, .connectionFailed,
            .connectionLost,
            .proxyFailed, .tlsFailed, .certificateUntrusted, .certificateExpired, .certificateWrongHost, .clientCertificateFailed,
            .queueTimeout, .connectTimeout, .firstByteTimeout, .idleTimeout, .totalTimeout, .badResponse, .truncatedBody,
            .headersTooLarge, .bodyTooLarge, .decodingBomb, .contentDecodingFailed, .tooManyRedirects, .redirectLoop, .redirectRefused,
            .unacceptableStatus, .notInCache, .resources, .invalidParameters, .insecureConnection, .accessRefused, .addressRefused,
        ]
        for code in codes {
            let status = ExitStatus.of(NetworkError(code, phase: .preparing, message: ""))
            #expect(status.code > 0 && status.code < 126 && status != .software, "\(code)")
        }
        #expect(ExitStatus.of(NetworkError(.other, phase: .preparing, message: "")) == .software)
        #expect(ExitStatus.signal(2).code == 130)
    }

    /// What the page promises is what the table says.
    @Test func thePageListsTheSame() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let page = try String(contentsOf: root.appending(path: "docs/tool.md"), encoding: .utf8)
        var listed: Set<Int32> = []
        for match in page.matches(of: /\n\| (\d+) \|/) { if let code = Int32(match.1) { listed.insert(code) } }
        let used: Set<Int32> = [
            0, 1, 3, 5, 6, 7, 8, 18, 22, 23, 26, 27, 28, 35, 47, 56, 58, 60, 61, 63, 64, 65, 66, 70, 71, 75, 97, 129, 130, 141, 143,
        ]
        #expect(listed == used)
    }
}

@Suite(.leavesNothing) struct AdviceTests {
    @Test func aStatusIsExplainedByItsNumber() {
        var error = NetworkError(.unacceptableStatus, phase: .receiving, message: "")
        error.response = ResponseHead(status: 401)
        #expect(Advice.about(error)?.contains("Authorization") == true)
        error.response = ResponseHead(status: 503)
        #expect(Advice.about(error)?.contains("try again") == true)
        error.response = ResponseHead(status: 418)
        #expect(Advice.about(error) == nil)
    }

    @Test(arguments: [
        (401, "credentials"), (403, "account"), (404, "path"), (410, "path"), (405, "--method"), (407, "proxy"), (415, "Content-Type"),
        (408, "try again"), (413, "less"), (429, "try again"), (500, "try again"), (599, "try again"),
    ])
    func statusesWithAnAdvice(_ status: Int, _ word: String) { #expect(Advice.about(status: status)?.contains(word) == true) }

    @Test(arguments: [400, 402, 406, 409, 499, 600]) func statusesWithout(_ status: Int) { #expect(Advice.about(status: status) == nil) }

    /// Programs have a sentence wherever the tool has one, but for mistakes in their own code.
    @Test func theLibraryHasASuggestionToo() {
        for code in Advice.texts.keys where code != .invalidHeader && code != .invalidOption {
            #expect(NetworkError(code, phase: .receiving, message: "").recoverySuggestion != nil, "\(code)")
        }
        for status in [401, 403, 404, 407, 408, 410, 415, 429, 500] {
            #expect(NetworkError.wording.statusSuggestion(status)?.hasSuffix(".") == true, "\(status)")
        }
    }

    /// A file that cannot be read is that of the certificates while the connection is made, and the user's before.
    @Test func theSameCodeMayAskForAnother() {
        let body = Advice.about(NetworkError(.fileUnreadable, phase: .preparing, message: ""))
        let certificates = Advice.about(NetworkError(.fileUnreadable, phase: .securing, message: ""))
        #expect(body == "check that the file is there and may be read")
        #expect(certificates?.contains("--cacert") == true)
        #expect(Advice.about(NetworkError(.unacceptableStatus, phase: .receiving, message: "")) == nil)
    }

    @Test func adviceIsOneLineInLowerCase() {
        for code in [NetworkError.Code.invalidURL, .certificateUntrusted, .totalTimeout, .diskFull, .connectionRefused] {
            let advice = Advice.about(NetworkError(code, phase: .receiving, message: ""))
            #expect(advice?.contains("\n") == false && advice?.first?.isLowercase == true && advice?.hasSuffix(".") == false)
        }
    }
}

@Suite(.leavesNothing) struct HeaderArgumentTests {
    @Test(arguments: [("A: b", "A", "b"), ("A:b", "A", "b"), ("A:\t b ", "A", "b"), ("A:", "A", ""), ("A: b: c", "A", "b: c")])
    func nameAndValueAreSplitAtTheFirstColon(_ text: String, _ name: String, _ value: String) throws {
        let field = try HeaderArgument(text).field
        #expect(field.name.rawName == name && field.value == value)
    }

    @Test(arguments: ["", "A", ": b", "A b: c", "A: b\r\nC: d", "A: \u{0}", "Ä: b"]) func whatIsNoFieldIsRefused(_ text: String) {
        #expect(throws: NetworkError.self) { _ = try HeaderArgument(text) }
    }
}
