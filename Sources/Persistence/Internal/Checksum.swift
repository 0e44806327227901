import FoundationEssentials
import Glibc

/// A running checksum over fields: each part is hashed with the result before it as its seed, so that no part can be taken for the end of
/// another. Pure.
struct Checksum {
    private(set) var value: UInt64

    init(seed: UInt64 = 0) { value = seed }

    mutating func add(_ bytes: UnsafeRawBufferPointer) { value = XXHash64.hash(bytes, seed: value) }

    mutating func add(_ data: Data) { data.withUnsafeBytes { add($0) } }

    mutating func add(_ text: String) { text.withBytes { add($0) } }

    mutating func add(_ number: Int64) {
        withUnsafeBytes(of: number.littleEndian) { add($0) }
    }

    /// As SQLite stores it.
    var stored: Int64 { Int64(bitPattern: value) }
}

extension String {
    /// The UTF-8 bytes. Keys are compared by them, never by canonical equivalence: two spellings of "é" are two keys, as they are on disk.
    @inline(__always)
    package func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        if let result = try utf8.withContiguousStorageIfAvailable({ try body(UnsafeRawBufferPointer($0)) }) { return result }
        return try Array(utf8).withUnsafeBytes(body)
    }

    package func hasSameBytes(as other: String) -> Bool {
        withBytes { mine in
            other.withBytes { theirs in
                guard mine.count == theirs.count else { return false }
                guard let left = mine.baseAddress, let right = theirs.baseAddress else { return true }
                return memcmp(left, right, mine.count) == 0
            }
        }
    }
}
