/// The name of what is stored: a key within a partition. Compared byte by byte.
///
/// A partition is whatever is cleared together and must not see another's content: an account, a scope, a test.
public struct EntryKey: Hashable, Sendable, CustomStringConvertible {
    public let partition: String
    public let name: String

    public init(_ name: String, partition: String = "") {
        self.partition = partition
        self.name = name
    }

    public static func == (left: EntryKey, right: EntryKey) -> Bool {
        left.name.hasSameBytes(as: right.name) && left.partition.hasSameBytes(as: right.partition)
    }

    public func hash(into hasher: inout Hasher) {
        name.withBytes { hasher.combine(bytes: $0) }
        hasher.combine(name.utf8.count)
        partition.withBytes { hasher.combine(bytes: $0) }
    }

    public var description: String { partition.isEmpty ? name : "\(partition)/\(name)" }

    var byteCount: Int { partition.utf8.count + name.utf8.count }
}

/// A string that is equal to another only byte by byte.
///
/// `String` compares by canonical equivalence: "é" in one scalar is equal to "é" in two, and for a server these are two resources. So text from
/// outside that may hold more than ASCII is a key of a dictionary in this form.
package struct ExactString: Hashable, Sendable {
    package let text: String

    package init(_ text: String) { self.text = text }

    package static func == (left: ExactString, right: ExactString) -> Bool { left.text.hasSameBytes(as: right.text) }

    package func hash(into hasher: inout Hasher) { text.withBytes { hasher.combine(bytes: $0) } }
}
