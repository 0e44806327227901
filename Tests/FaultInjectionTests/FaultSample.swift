import Foundation

/// The calls of a path that fail, one in each round: all of them with `SCOPEDNET_SOAK=1`, else every fifth (of a long path
/// fewer), from a first one that differs from run to run.
struct FaultSample {
    /// From one failing call to the next.
    let step: Int
    /// Of the first failing call, behind the first that may fail; less than `step`.
    let offset: Int

    static func ofThisRun(step usual: Int = 5) -> FaultSample {
        let step = ProcessInfo.processInfo.environment["SCOPEDNET_SOAK"] == "1" ? 1 : usual
        return FaultSample(step: step, offset: .random(in: 0..<step))
    }

    /// The numbers of the calls that fail, of those from `first` to `last`.
    func numbers(from first: Int, through last: Int) -> StrideThrough<Int> { stride(from: first + offset, through: last, by: step) }

    var description: String { step == 1 ? "all" : "every \(step)th from \(offset + 1) on" }
}
