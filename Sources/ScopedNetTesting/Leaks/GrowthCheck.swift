internal import CHeap

/// What is alive after each round of the same thing.
struct GrowthCheck {
    let census = LeakCensus()
    private let heapPerRound: Int?
    private var counts: [Int] = []
    private var heaps: [Int] = []

    init(heapPerRound: Int?) { self.heapPerRound = heapPerRound }

    /// What the first round left is what later ones may leave.
    var expectedCount: Int { counts.first ?? 0 }

    mutating func endRound() {
        counts.append(census.liveCount)
        if heapPerRound != nil { heaps.append(Self.heapInUse) }
    }

    var failure: String? {
        if let forgotten = census.forgottenStarts.first { return "A request was never started: \(forgotten)" }
        if Self.grows(counts, by: 1) {
            return "What is alive grows from round to round: \(counts.map(String.init).joined(separator: ", ")).\n\(census.report())"
        }
        if let heapPerRound, Self.grows(heaps, by: heapPerRound + 1) {
            return "The heap grows from round to round: \(heaps.map(String.init).joined(separator: ", ")) bytes in use."
        }
        return nil
    }

    /// By so much in each round after the first two: things made once or twice are no growth.
    private static func grows(_ values: [Int], by step: Int) -> Bool {
        let steady = values.dropFirst(values.count > 2 ? 1 : 0)
        return zip(steady, steady.dropFirst()).allSatisfy { $1 - $0 >= step }
    }

    private static var heapInUse: Int { Int(clamping: scopednet_heap_in_use()) }
}
