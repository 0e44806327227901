#if TestServer
/// The parts of a request target (pure). A proxy is sent the absolute form, everyone else the path.
struct RequestTarget: Sendable, Hashable {
    /// Host and port of the absolute form, as written; nil in the others.
    private(set) var authority: String?
    private(set) var path: String
    private(set) var query: String?

    init(_ target: String) {
        var rest = Substring(target)
        if let scheme = target.range(ofScheme: "://") {
            rest = target[scheme...]
            let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
            authority = String(rest[..<end])
            rest = rest[end...]
        }
        let parts = rest.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let written = parts.first.map(String.init) ?? ""
        path = authority != nil && written.isEmpty ? "/" : written
        query = parts.count > 1 ? String(parts[1]) : nil
    }

    /// The target to send to the origin server.
    var originForm: String {
        query.map { "\(path)?\($0)" } ?? path
    }
}

extension String {
    /// The index after `separator`, when only letters stand before it.
    fileprivate func range(ofScheme separator: String) -> Index? {
        guard let colon = firstIndex(of: ":"), self[..<colon].allSatisfy(\.isLetter), self[colon...].hasPrefix(separator)
        else { return nil }
        return index(colon, offsetBy: separator.count)
    }
}
#endif
