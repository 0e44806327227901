/// Bytes collected again and again in the same memory: an append is a copy and nothing else.
struct ByteStore: Sendable {
    /// All of it is initialised; `count` bytes of it are meant.
    private var memory: [UInt8] = []
    private(set) var count = 0

    private static let smallest = 512
    /// More than this is given back by `removeAll`.
    private static let kept = 4 << 10

    /// The bytes from `start` on, in an array of exactly that size.
    func bytes(from start: Int = 0) -> [UInt8] { withBytes { Array($0[start...]) } }

    @inline(__always)
    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        let count = count
        return memory.withUnsafeBytes { body(UnsafeRawBufferPointer(start: $0.baseAddress, count: count)) }
    }

    mutating func removeAll() {
        count = 0
        if memory.count > Self.kept { memory = [] }
    }

    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        makeRoom(for: bytes.count)
        memory.withUnsafeMutableBytes { Self.copy(bytes, to: $0, at: count) }
        count += bytes.count
    }

    /// Both parts, and one byte behind them.
    mutating func append(_ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer, _ end: UInt8) {
        let size = first.count + second.count + 1
        makeRoom(for: size)
        memory.withUnsafeMutableBytes { memory in
            Self.copy(first, to: memory, at: count)
            Self.copy(second, to: memory, at: count + first.count)
            memory[count + size - 1] = end
        }
        count += size
    }

    /// Puts `byte`, if there is one, and `bytes` in front of the last byte.
    mutating func insertBeforeLast(_ byte: UInt8?, _ bytes: UnsafeRawBufferPointer) {
        guard count > 0 else { return }
        let last = memory[count - 1]
        if let byte { memory[count - 1] = byte } else { count -= 1 }
        append(bytes, UnsafeRawBufferPointer(start: nil, count: 0), last)
    }

    /// The byte so many places before the last.
    func byte(beforeLast distance: Int) -> UInt8? { count > distance ? memory[count - 1 - distance] : nil }

    /// Changes those of the `length` bytes before the last few for which `isWanted` holds.
    mutating func replace(inLast length: Int, skipping few: Int, where isWanted: (UInt8) -> Bool, by replacement: UInt8) {
        let end = max(0, count - few)
        for index in max(0, end - length)..<end where isWanted(memory[index]) { memory[index] = replacement }
    }

    @inline(__always)
    private static func copy(_ bytes: UnsafeRawBufferPointer, to memory: UnsafeMutableRawBufferPointer, at offset: Int) {
        guard let source = bytes.baseAddress, let target = memory.baseAddress else { return }
        target.advanced(by: offset).copyMemory(from: source, byteCount: bytes.count)
    }

    @inline(__always)
    private mutating func makeRoom(for size: Int) {
        if count + size > memory.count { grow(to: count + size) }
    }

    private mutating func grow(to size: Int) {
        let wanted = max(size, memory.count * 2, Self.smallest)
        memory.append(contentsOf: repeatElement(0, count: wanted - memory.count))
    }
}
