/// Bytes that came from anywhere, read with every bound checked: nil in place of what lies outside.
struct ByteView {
    private let bytes: UnsafeRawBufferPointer

    /// The view is used within the closure that lent it the bytes, and nowhere else.
    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    var count: Int { bytes.count }

    func prefix(_ length: Int) -> ByteView { ByteView(UnsafeRawBufferPointer(rebasing: bytes.prefix(length))) }

    func u8(_ offset: Int) -> UInt8? { offset >= 0 && offset < bytes.count ? bytes[offset] : nil }

    func number(_ offset: Int, bytes length: Int, isBigEndian: Bool) -> UInt32? {
        guard offset >= 0, length <= bytes.count, offset <= bytes.count - length else { return nil }
        var value: UInt32 = 0
        for index in 0..<length {
            let byte = UInt32(bytes[offset + index])
            value |= byte << UInt32(8 * (isBigEndian ? length - 1 - index : index))
        }
        return value
    }

    func u16BE(_ offset: Int) -> Int? { number(offset, bytes: 2, isBigEndian: true).map(Int.init) }
    func u32BE(_ offset: Int) -> Int? { number(offset, bytes: 4, isBigEndian: true).map(Int.init) }
    func u16LE(_ offset: Int) -> Int? { number(offset, bytes: 2, isBigEndian: false).map(Int.init) }
    func u24LE(_ offset: Int) -> Int? { number(offset, bytes: 3, isBigEndian: false).map(Int.init) }
    func u32LE(_ offset: Int) -> Int? { number(offset, bytes: 4, isBigEndian: false).map(Int.init) }

    /// True where all of `expected` stands at `offset`.
    func has(_ expected: StaticString, at offset: Int = 0) -> Bool {
        let length = expected.utf8CodeUnitCount
        guard offset >= 0, length <= bytes.count, offset <= bytes.count - length else { return false }
        return expected.withUTF8Buffer { text in text.indices.allSatisfy { bytes[offset + $0] == text[$0] } }
    }

    func has(_ expected: [UInt8], at offset: Int = 0) -> Bool {
        guard offset >= 0, expected.count <= bytes.count, offset <= bytes.count - expected.count else { return false }
        return expected.indices.allSatisfy { bytes[offset + $0] == expected[$0] }
    }

    /// True where what is there could become `expected` when more bytes come.
    func mayBecome(_ expected: [UInt8]) -> Bool {
        bytes.count < expected.count && (0..<bytes.count).allSatisfy { bytes[$0] == expected[$0] }
    }

    /// The first bytes as text, for formats that are text.
    func text(atMost length: Int) -> String { String(decoding: bytes.prefix(length), as: UTF8.self) }
}
