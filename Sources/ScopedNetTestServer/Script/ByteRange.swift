#if TestServer
/// A `Range` field with one byte range (pure). Several ranges are answered with the whole, as RFC 9110, section 14.2 allows.
struct ByteRange: Sendable {
    enum Resolved: Sendable, Hashable {
        case whole
        case part(Range<Int>)
        case unsatisfiable
    }

    private var first: Int?
    private var last: Int?

    init(header: String) {
        let prefix = "bytes="
        guard header.hasPrefix(prefix) else { return }
        let bounds = header.dropFirst(prefix.count).split(separator: "-", omittingEmptySubsequences: false)
        guard bounds.count == 2 else { return }
        first = Int(bounds[0])
        last = Int(bounds[1])
        // `2,5-7` and the like: not a number, so no bound, so the whole.
        if (first == nil && !bounds[0].isEmpty) || (last == nil && !bounds[1].isEmpty) {
            first = nil
            last = nil
        }
    }

    func resolve(in count: Int) -> Resolved {
        switch (first, last) {
        case (nil, nil): .whole
        case (nil, let suffix?): suffix == 0 || count == 0 ? .unsatisfiable : .part(max(0, count - suffix)..<count)
        case (let first?, nil): first < count ? .part(first..<count) : .unsatisfiable
        case (let first?, let last?) where last < first: .whole
        case (let first?, let last?): first < count ? .part(first..<min(last, count - 1) + 1) : .unsatisfiable
        }
    }
}
#endif
