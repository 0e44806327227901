/// The name of what is stored: a key within a partition. Compared byte by byte.
///
/// A partition is whatever is cleared together and must not see another's content: an account, a scope, a test.
public struct EntryKey: Hashable, Sendable, CustomStringConvertible {
    /// The partition; empty by default.
    public let partition: String
    /// The name within the partition.
    public let name: String

    /// Makes a key; the default partition is the empty text.
    public init(_ name: String, partition: String = "") {
        self.partition = partition
        self.name = name
    }

    /// Compares bytes: texts that only look alike are two keys.
    public static func == (left: EntryKey, right: EntryKey) -> Bool {
        left.name.hasSameBytes(as: right.name) && left.partition.hasSameBytes(as: right.partition)
    }

    /// Hashes the bytes of both texts.
    public func hash(into hasher: inout Hasher) {
        name.withBytes { hasher.combine(bytes: $0) }
        hasher.combine(name.utf8.count)
        partition.withBytes { hasher.combine(bytes: $0) }
    }

    /// The partition and the name, with a slash between them.
    public var description: String { partition.isEmpty ? name : "\(partition)/\(name)" }

    var byteCount: Int { partition.utf8.count + name.utf8.count }

    /// As the column `key_hash` has it.
    func hash(seed: UInt64) -> Int64 {
        var sum = Checksum(seed: seed)
        sum.add(partition)
        sum.add(name)
        return sum.stored
    }
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
