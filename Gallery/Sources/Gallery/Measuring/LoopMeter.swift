import CGalleryGTK
import Glibc

/// Measures the turns of the main loop, and the time that the library takes on the main actor for each photo of the wall.
///
/// A turn is what the loop does between two waits: events, work of the main actor, or a frame. One that draws a frame is counted as such, too.
@MainActor final class LoopMeter {
    private static var shared: LoopMeter?

    private var turns: [Duration] = []
    private var frames: [Duration] = []
    private var items: [Duration] = []
    private var began: ContinuousClock.Instant?
    private var isDrawn = false
    private var isOn = false

    /// Takes the place of the function by which GLib waits.
    init() {
        Self.shared = self
        g_main_context_set_poll_func(nil) { descriptors, count, timeout in
            MainActor.assumeIsolated { LoopMeter.shared?.endTurn() }
            let result = g_poll(descriptors, count, timeout)
            MainActor.assumeIsolated { LoopMeter.shared?.began = .now }
            return result
        }
    }

    /// Counts from here on: the first photos are there. A second call changes nothing.
    func begin(window: UnsafeMutableRawPointer) {
        guard !isOn, let clock = gtk_widget_get_frame_clock(window.widget) else { return }
        isOn = true
        connect(plain: "after-paint", of: UnsafeMutableRawPointer(clock)) { [weak self] in self?.isDrawn = true }
    }

    /// Adds the time of the library for a photo that is off the wall.
    func add(_ item: Duration) { if isOn { items.append(item) } }

    /// The figures, on one line, with milliseconds at the median, at 99 of 100, and at most.
    var line: String {
        let parts = [("frames", frames), ("turns", turns), ("items", items)].map { name, times in
            let sorted = times.sorted()
            func at(_ share: Double) -> String {
                sorted.isEmpty ? "-" : sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))].milliseconds(digits: 3)
            }
            return "\(name) \(sorted.count) p50 \(at(0.5)) p99 \(at(0.99)) most \(at(1))"
        }
        return "figures \(parts.joined(separator: " ")) rss \(Self.residentKiB)"
    }

    private func endTurn() {
        guard isOn, let began else { return }
        let time = began.duration(to: .now)
        turns.append(time)
        if isDrawn { frames.append(time) }
        isDrawn = false
    }

    /// KiB that are resident (proc(5), `VmRSS`).
    static var residentKiB: Int {
        guard let file = fopen("/proc/self/status", "r") else { return 0 }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        var value = 0
        while fgets(&line, 256, file) != nil {
            line.withUnsafeBufferPointer { text in
                if let start = text.baseAddress, strncmp(start, "VmRSS:", 6) == 0 { value = Int(strtol(start + 6, nil, 10)) }
            }
        }
        return value
    }
}

/// The time that the library takes on the main actor for the photo of a cell. Without a meter nothing is measured.
@MainActor final class ItemMeter {
    private let meter: LoopMeter?
    private var time = Duration.zero
    private var isRunning = false

    init(_ meter: LoopMeter?) { self.meter = meter }

    /// Runs work of the library. What it calls in turn is counted once.
    func run(_ work: () -> Void) {
        guard meter != nil, !isRunning else { return work() }
        isRunning = true
        time += ContinuousClock().measure(work)
        isRunning = false
    }

    /// Hands in the time of the photo.
    func finish() {
        if time > .zero { meter?.add(time) }
        time = .zero
    }
}
