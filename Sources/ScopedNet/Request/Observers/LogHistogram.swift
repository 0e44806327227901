import Synchronization

/// The shape of a histogram of durations: 16 steps for each doubling, from a microsecond to a day, so that a value is known to 1/32. (pure)
enum LogScale {
    private static let stepBits: UInt64 = 4
    private static let steps = 1 << Int(stepBits)
    /// 2^37 microseconds are 38 hours.
    private static let highestBit = 36
    static let count = steps + (highestBit - Int(stepBits) + 1) * steps

    /// The cell of a duration. What is longer than all is in the last one.
    static func index(microseconds: UInt64) -> Int {
        guard microseconds >= UInt64(steps) else { return Int(microseconds) }
        let bit = 63 - microseconds.leadingZeroBitCount
        guard bit <= highestBit else { return count - 1 }
        let step = Int((microseconds >> UInt64(bit - Int(stepBits))) & UInt64(steps - 1))
        return steps + (bit - Int(stepBits)) * steps + step
    }

    /// The middle of a cell, in microseconds.
    static func microseconds(index: Int) -> Double {
        guard index >= steps else { return Double(index) }
        let (octave, step) = (index - steps).quotientAndRemainder(dividingBy: steps)
        let width = Double(UInt64(1) << UInt64(octave))
        return (Double(steps + step) + 0.5) * width - 0.5
    }

    /// The cell of the value that a share of all values (0 to 1; beyond counts as the nearer of the two) does not exceed; nil where there are none.
    static func quantile(_ share: Double, of cells: [Int]) -> Int? {
        let total = cells.reduce(0, +)
        guard total > 0 else { return nil }
        let share = share.isNaN ? 0 : min(1, max(0, share))
        let rank = max(1, Int((share * Double(total)).rounded(.up)))
        var seen = 0
        for (index, count) in cells.enumerated() {
            seen += count
            if seen >= rank { return index }
        }
        return cells.lastIndex { $0 > 0 }
    }
}

/// A histogram of durations that any thread adds to. 4 KiB, however many values.
final class LogHistogram: @unchecked Sendable {
    // Safety: the cells are atomic, made in `init`, and freed in `deinit`, when nobody else refers to them.
    private let cells: UnsafeMutablePointer<Atomic<Int>>

    init() {
        cells = .allocate(capacity: LogScale.count)
        for index in 0..<LogScale.count { (cells + index).initialize(to: Atomic(0)) }
    }

    deinit {
        cells.deinitialize(count: LogScale.count)
        cells.deallocate()
    }

    func add(nanoseconds: UInt64) {
        cells[LogScale.index(microseconds: nanoseconds / 1000)].add(1, ordering: .relaxed)
    }

    var counts: [Int] { (0..<LogScale.count).map { cells[$0].load(ordering: .relaxed) } }
}
