/// Writes parameters as a query string, for URLs and for the bodies of forms. (pure)
public struct QuerySerializer: Sendable {
    private let write: @Sendable (Parameters) throws -> String

    /// Nested names, sorted and percent-encoded: see ``Parameters/Style`` and ``PercentEncoding``.
    public static let standard = QuerySerializer(Parameters.Style())

    /// The standard form with other rules for arrays and booleans.
    public init(_ style: Parameters.Style) {
        write = { parameters in
            try style.pairs(of: parameters).map { pair in
                let name = PercentEncoding.escaped(pair.name)
                return switch pair.content {
                case .none: name
                case .text(let text): name + "=" + PercentEncoding.escaped(text)
                case .bytes(let data): name + "=" + PercentEncoding.escaped(data)
                }
            }.joined(separator: "&")
        }
    }

    /// A form of your own, such as that of a server that wants indices. It has to escape what needs it.
    ///
    /// The closure is not called where there are no parameters. It runs where the request is made. What it throws ends the request before
    /// it is sent, as the `underlying` error of `invalidParameters`.
    public static func custom(_ write: @escaping @Sendable (Parameters) throws -> String) -> QuerySerializer {
        QuerySerializer(write: write)
    }

    private init(write: @escaping @Sendable (Parameters) throws -> String) { self.write = write }

    /// The query, without a `?`. Empty where there is nothing to write.
    ///
    /// - Throws: ``NetworkError`` with code `invalidParameters`.
    public func string(from parameters: Parameters) throws(NetworkError) -> String {
        try parameters.check()
        do { return try write(parameters) } catch let error as NetworkError { throw error } catch {
            throw .invalidParameters("the query could not be written", underlying: error)
        }
    }

    /// Puts the query into a URL: behind the one it has, and before its fragment. An empty query changes nothing.
    ///
    /// - Parameters:
    ///   - parameters: those of the query.
    ///   - url: an absolute or a relative one, as text.
    /// - Returns: the URL as text.
    /// - Throws: ``NetworkError`` with code `invalidParameters`, also for a query of your own with a `#`, which would end it.
    public func appending(_ parameters: Parameters, to url: String) throws(NetworkError) -> String {
        let query = try string(from: parameters)
        guard !query.isEmpty else { return url }
        guard !query.utf8.contains(UInt8(ascii: "#")) else { throw .invalidParameters("the query holds a '#'; write it as %23") }
        // By bytes: a letter that combines with `?` or `#` makes another Character of them.
        let end = url.utf8.firstIndex(of: UInt8(ascii: "#")) ?? url.endIndex
        let head = url.utf8[..<end]
        let joint =
            if let last = head.last, last == UInt8(ascii: "?") || last == UInt8(ascii: "&"), head.contains(UInt8(ascii: "?")) {
                ""
            } else {
                head.contains(UInt8(ascii: "?")) ? "&" : "?"
            }
        return "\(Substring(head))\(joint)\(query)\(url[end...])"
    }
}
