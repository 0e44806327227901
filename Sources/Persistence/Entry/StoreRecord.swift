public import FoundationEssentials

/// A small value by name, in a namespace: a cookie, the state of a download. Records are never evicted, and go straight to the disk.
public struct StoreRecord: Sendable, Hashable {
    /// The name, unique in its namespace.
    public var name: String
    /// The value, of any meaning.
    public var data: Data
    /// From then on it is not returned any more. Nil: never.
    public var expires: Date?

    /// Makes a record, which never expires by default.
    public init(name: String, data: Data, expires: Date? = nil) {
        self.name = name
        self.data = data
        self.expires = expires
    }
}

/// One transaction on the records of a namespace.
package struct RecordChange: Sendable {
    /// Every other record of the namespace goes.
    package var replacesAll: Bool
    package var kept: [StoreRecord]
    package var gone: [String]

    package init(replacesAll: Bool = false, kept: [StoreRecord] = [], gone: [String] = []) {
        self.replacesAll = replacesAll
        self.kept = kept
        self.gone = gone
    }
}
