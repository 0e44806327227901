import CleanSlate
import ScopedNet
import ScopedNetImages
import ScopedNetTesting
import ScopedNetViews
import Testing

/// Views in a terminal, and in a file.
@MainActor @Suite(.leavesNothing) struct TerminalViewTests {
    @MainActor private final class Recorder {
        var bytes: [UInt8] = []
    }

    /// The bytes that were written, with escapes in words.
    @MainActor private final class Screen {
        private let recorder = Recorder()
        let output: TerminalOutput

        init(isTerminal: Bool = true, _ capability: TerminalPicture.Capability = .plain) {
            output = TerminalOutput(isTerminal: isTerminal, capability: capability, columns: 40, rows: 10) { [recorder] in
                recorder.bytes += $0
            }
        }

        /// Takes what was written since the last time.
        func take() -> String {
            defer { recorder.bytes = [] }
            var text = String(decoding: recorder.bytes, as: UTF8.self)
            for (escape, word) in [("\u{1B}[K", "<K>"), ("\u{1B}[J", "<J>"), ("\u{1B}[", "<"), ("\r", "<CR>"), ("\n", "<LF>")] {
                text = text.split(separator: escape, omittingEmptySubsequences: false).joined(separator: word)
            }
            return text
        }
    }

    @Test func aPictureIsDrawnInPlaceOfTheOneBefore() throws {
        let screen = Screen()
        let view = TerminalImageView(screen.output)
        view.display(try ViewTest.image(red: 255, 2, 4))
        let first = screen.take()
        #expect(first.split(separator: "<LF>").count == 2, "\(first)")
        view.displayPreview(try ViewTest.image(red: 255, 2, 4))
        #expect(screen.take().hasPrefix("<2A<CR><J>"))
        view.display(nil)
        #expect(screen.take() == "<2A<CR><J>")
        view.display(nil)
        #expect(screen.take().isEmpty)
    }

    @Test func anotherViewsTextIsNotErased() throws {
        let screen = Screen()
        let (view, line) = (TerminalImageView(screen.output), TerminalProgressLine("a", on: screen.output))
        view.display(try ViewTest.image(red: 255, 2, 4))
        line.display(.fraction(1), animated: true)
        _ = screen.take()
        view.display(try ViewTest.image(red: 255, 2, 4))
        let text = screen.take()
        #expect(text.hasPrefix("<LF>") && !text.contains("<J>"))
    }

    @Test func aFileGetsOneLineForEachPicture() throws {
        let screen = Screen(isTerminal: false, .kitty)
        let view = TerminalImageView(screen.output)
        view.display(nil)
        view.displayPreview(try ViewTest.image(red: 1))
        view.display(try ViewTest.image(red: 1, 30, 20))
        #expect(screen.take() == "picture, 30 × 20<LF>")
    }

    @Test func progressIsALineThatIsDrawnAgain() {
        let screen = Screen()
        let line = TerminalProgressLine("p\u{1B}[2J", on: screen.output, width: 10)
        line.setPaused(true)
        line.setPaused(false)
        line.endProgress()
        #expect(screen.take().isEmpty)
        line.display(.indeterminate, animated: false)
        let label = String(screen.take().dropFirst(4).prefix { $0 != " " })
        #expect(!label.contains("<2J"))
        line.display(.fraction(0.456), animated: true)
        #expect(screen.take() == "<CR>\(label) [####      ]  45 %<K>")
        line.setPaused(true)
        #expect(screen.take() == "<CR>\(label) [####      ]  45 % (paused)<K>")
        line.setPaused(false)
        line.display(.fraction(1), animated: true)
        _ = screen.take()
        line.endProgress()
        #expect(screen.take() == "<LF>")
        line.endProgress()
        #expect(screen.take().isEmpty)
    }

    /// Two downloads at once are not thousands of lines.
    @Test func oneOfTwoBarsMovesAtATime() {
        let screen = Screen()
        let (a, b) = (TerminalProgressLine("a", on: screen.output, width: 4), TerminalProgressLine("b", on: screen.output, width: 4))
        a.display(.fraction(0), animated: true)
        b.display(.fraction(0), animated: true)
        #expect(screen.take() == "<CR>a [    ]   0 %<K><LF><CR>b [    ]   0 %<K>")
        a.display(.fraction(0.5), animated: true)
        #expect(screen.take().isEmpty)
        b.display(.fraction(0.5), animated: true)
        b.endProgress()
        #expect(screen.take() == "<CR>b [##  ]  50 %<K><LF>")
        a.display(.fraction(0.75), animated: true)
        a.endProgress()
        #expect(screen.take() == "<CR>a [### ]  75 %<K><LF>")
    }

    /// A line that the terminal breaks would be drawn below itself.
    @Test func aLongLabelIsCut() {
        let screen = Screen()
        let line = TerminalProgressLine(String(repeating: "a", count: 100), on: screen.output, width: 10)
        line.display(.fraction(0.5), animated: true)
        #expect(screen.take() == "<CR>\(String(repeating: "a", count: 20)) [#####     ]  50 %<K>")
        line.endProgress()
        _ = screen.take()
        let spinner = TerminalSpinner(String(repeating: "b", count: 100), on: screen.output, timing: ManualClock())
        spinner.setBusy(true)
        #expect(screen.take() == "<CR>| \(String(repeating: "b", count: 37))<K>")
        spinner.setBusy(false)
    }

    @Test func aFileGetsOneLineAtTheEndOfProgress() {
        let screen = Screen(isTerminal: false)
        let line = TerminalProgressLine("a", on: screen.output)
        for percent in 0...100 { line.display(.fraction(Double(percent) / 100), animated: true) }
        line.endProgress()
        #expect(screen.take() == "a 100 %<LF>")
        line.display(.indeterminate, animated: true)
        line.endProgress()
        #expect(screen.take() == "a …<LF>")
    }

    @Test func aSpinnerTurnsAndIsErased() async {
        let (screen, clock) = (Screen(), ManualClock())
        let spinner = TerminalSpinner("loading", on: screen.output, timing: clock)
        spinner.setBusy(false)
        spinner.setBusy(true)
        spinner.setBusy(true)
        #expect(screen.take() == "<CR>| loading<K>" && clock.armedCount == 1)
        clock.advance(by: .milliseconds(100))
        await mainQueue()
        #expect(screen.take() == "<CR>/ loading<K>" && clock.armedCount == 1)
        spinner.setBusy(false)
        #expect(screen.take() == "<CR><K>" && clock.armedCount == 0)
        await mainQueue()
        #expect(screen.take().isEmpty)
    }

    @Test func aSpinnerLeavesTheLineOfAnotherViewAlone() async {
        let (screen, clock) = (Screen(), ManualClock())
        let spinner = TerminalSpinner("loading", on: screen.output, timing: clock)
        let line = TerminalProgressLine("a", on: screen.output, width: 4)
        spinner.setBusy(true)
        line.display(.fraction(0), animated: true)
        #expect(screen.take() == "<CR>| loading<K><LF><CR>a [    ]   0 %<K>")
        clock.advance(by: .milliseconds(100))
        await mainQueue()
        #expect(screen.take().isEmpty)
        line.endProgress()
        clock.advance(by: .milliseconds(100))
        await mainQueue()
        #expect(screen.take() == "<LF><CR>/ loading<K>")
        line.display(.fraction(0.5), animated: true)
        spinner.setBusy(false)
        #expect(screen.take() == "<LF><CR>a [##  ]  50 %<K>")
    }

    @Test func aFileGetsOneLineForASpinner() async {
        let (screen, clock) = (Screen(isTerminal: false), ManualClock())
        let spinner = TerminalSpinner("loading", on: screen.output, timing: clock)
        spinner.setBusy(true)
        spinner.setBusy(false)
        #expect(screen.take() == "loading …<LF>" && clock.armedCount == 0)
    }

    @Test func theOutputOfTheProcessIsFound() {
        let output = TerminalOutput.standardOutput()
        #expect(output.size.columns > 0 && output.size.rows > 0)
    }

    @Test func aSpinnerThatGoesStopsItsTimer() {
        let (screen, clock) = (Screen(), ManualClock())
        do {
            let spinner = TerminalSpinner("loading", on: screen.output, timing: clock)
            spinner.setBusy(true)
        }
        #expect(clock.armedCount == 0)
    }
}
