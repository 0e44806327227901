import Glibc

/// Lines about events of the program, on standard output, for the test that drives the window.
@MainActor final class Report {
    /// True where lines are written.
    let isOn: Bool
    /// The callbacks of loads since the end of the window. None is expected.
    private(set) var lateCalls = 0
    private var isWindowClosed = false

    init(isOn: Bool) { self.isOn = isOn }

    /// Writes a line, at once.
    func say(_ line: @autoclosure () -> String) {
        guard isOn else { return }
        let text = line() + "\n"
        _ = text.withCString { write(STDOUT_FILENO, $0, strlen($0)) }
    }

    /// Writes the place of a widget, where an event of the mouse hits it.
    func say(_ name: String, at place: Place?) {
        if let place { say("place \(name) \(place.x) \(place.y) \(place.width) \(place.height)") }
    }

    /// Counts a callback of a load.
    func noteCall() { if isWindowClosed { lateCalls += 1 } }

    /// Counts callbacks as late from here on.
    func closeWindow() { isWindowClosed = true }
}
