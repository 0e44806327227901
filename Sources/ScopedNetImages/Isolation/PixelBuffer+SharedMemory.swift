#if Images
extension PixelBuffer {
    /// Below this a copy is cheaper than a mapping.
    private static var leastMapped: Int { 128 << 10 }

    /// Makes a buffer of memory that is sealed against writes.
    static func holding(_ memory: borrowing SharedMemory) throws -> PixelBuffer {
        guard memory.byteCount < leastMapped else { return PixelBuffer(mapped: try memory.map()) }
        return try memory.withBytes { try copying($0) }
    }

    /// Makes a buffer of bytes that another process may write to meanwhile.
    static func copying(_ bytes: UnsafeRawBufferPointer) throws -> PixelBuffer { try PixelBuffer(copying: bytes) }
}
#endif
