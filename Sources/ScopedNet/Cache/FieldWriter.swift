import HTTPTypes

/// Fields as bytes, the way ``StoredResponse/encoded()`` writes them: name and value, each after its length.
struct FieldWriter: Sendable, Equatable {
    private(set) var count = 0
    private(set) var bytes: [UInt8] = []

    init() { bytes.reserveCapacity(512) }

    mutating func append(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
        bytes.append(counted: name)
        bytes.append(counted: value)
        count += 1
    }

    mutating func append(_ name: String, _ value: String) {
        bytes.append(counted: name.utf8)
        bytes.append(counted: value.utf8)
        count += 1
    }

    mutating func append(_ field: HTTPField) {
        bytes.append(counted: field.name.rawName.utf8)
        field.withUnsafeBytesOfValue { bytes.append(counted: $0) }
        count += 1
    }
}

extension [UInt8] {
    /// Little-endian, as all numbers of a stored response.
    mutating func append(number: UInt64) { Swift.withUnsafeBytes(of: number.littleEndian) { append(contentsOf: $0) } }

    mutating func append(count: Int) { Swift.withUnsafeBytes(of: UInt32(clamping: count).littleEndian) { append(contentsOf: $0) } }

    mutating func append(counted bytes: some Collection<UInt8>) {
        append(count: bytes.count)
        append(contentsOf: bytes)
    }
}
