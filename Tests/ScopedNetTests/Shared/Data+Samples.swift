import Foundation

private let pattern = Data((0..<100_003).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) })

/// A body that is the same each time and repeats itself late.
func bytes(_ count: Int) -> Data {
    var data = Data(capacity: count)
    while data.count < count { data.append(pattern.prefix(count - data.count)) }
    return data
}

extension Data {
    /// `==` for large bodies: a failed expectation would otherwise work out and print the difference of megabytes.
    func isSame(as other: Data) -> Bool { self == other }
}

extension Data? {
    func isSame(as other: Data) -> Bool { self == other }
}
