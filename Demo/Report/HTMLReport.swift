import Foundation
struct HTMLReport {
    init(_ s: Summary, date: (ContinuousClock.Instant) -> Date) {}
    var text: String { "" }
}
