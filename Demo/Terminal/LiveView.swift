import Dispatch
import Foundation
import ScopedNetFoundation
import Synchronization

/// Shows the board: what has happened scrolls up, what is going on is redrawn below it. Without a terminal, lines only.
final class LiveView: Sendable {
    private struct State {
        var drawnRows = 0
        var frame = 0
        var isOver = false
    }

    private let terminal: Terminal
    private let board: Board
    private let baseURL: String
    private let began = ContinuousClock.now
    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "demo.view")

    init(_ board: Board, terminal: Terminal, baseURL: String) {
        self.board = board
        self.terminal = terminal
        self.baseURL = baseURL
    }

    /// Draws until ``finish()``.
    func start() {
        if terminal.isLive { terminal.write("\u{1B}[?25l") }
        tick()
    }

    private func tick() {
        queue.asyncAfter(deadline: .now() + .milliseconds(terminal.isLive ? 40 : 100)) { [self] in
            let goesOn = state.withLock { state in
                guard !state.isOver else { return false }
                draw(&state)
                return true
            }
            if goesOn { tick() }
        }
    }

    /// The last lines; the cursor comes back.
    func finish() {
        state.withLock { state in
            guard !state.isOver else { return }
            state.isOver = true
            draw(&state)
            if terminal.isLive { terminal.write("\u{1B}[?25h") }
        }
    }

    private func draw(_ state: inout State) {
        let size = terminal.size
        let taken = board.takeLines()
        // The pages of the runs are asked for after the lines about them.
        let format = LineFormat(
            style: Style(isOn: terminal.isLive), width: size.columns, baseURL: baseURL, graphics: terminal.graphics, pages: board.pages)
        let lines = taken.flatMap { format.lines($0) }
        guard terminal.isLive else {
            if !lines.isEmpty { terminal.write(lines.joined(separator: "\n") + "\n") }
            return
        }
        state.frame += 1
        let rows = state.isOver ? [] : rows(format, size.rows, state.frame)
        guard !lines.isEmpty || !rows.isEmpty || state.drawnRows > 0 else { return }
        // Up to the first live row, clear from there, what scrolls, what stays.
        var text = state.drawnRows > 0 ? "\u{1B}[\(state.drawnRows)F\u{1B}[J" : ""
        for line in lines + rows { text += line + "\n" }
        terminal.write(text)
        state.drawnRows = rows.count
    }

    private func rows(_ format: LineFormat, _ height: Int, _ frame: Int) -> [String] {
        let traces = board.traces
        let open = traces.filter { !$0.isOver }
        let now = ContinuousClock.now
        let room = max(1, height - 6)
        var rows = open.prefix(room).map { format.live($0, now: now, frame: frame) }
        if open.count > room { rows.append(format.style(.dim, "  … and \(open.count - room) more")) }
        return rows + [format.footer(traces, elapsed: began.duration(to: now))]
    }
}
