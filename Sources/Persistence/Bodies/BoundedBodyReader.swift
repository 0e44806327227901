package import FoundationEssentials

/// Reads a body as ``BodyReader`` does, and waits for the disk no longer than the store's lookups do (``StoreLimits/readTimeout``).
package struct BoundedBodyReader: Sendable {
    private let reader: BodyReader
    private let disk: DiskThreads?

    /// In bytes.
    package var length: Int { reader.length }

    init(_ body: EntryBody) throws(StoreError) {
        if case .file(let file) = body.storage { disk = file.disk } else { disk = nil }
        reader = try Self.bounded(disk) { () throws(StoreError) in try body.makeReader() }
    }

    /// - Throws: as `BodyReader.read`, and `unavailable` when the disk does not answer in time.
    package func read(at offset: Int, upTo count: Int) throws(StoreError) -> Data {
        let reader = reader
        return try Self.bounded(disk) { () throws(StoreError) in try reader.read(at: offset, upTo: count) }
    }

    private static func bounded<Value: Sendable>(
        _ disk: DiskThreads?, _ job: @escaping @Sendable () throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        guard let disk else { return try job() }
        guard let result = disk.answer({ Result { () throws(StoreError) in try job() } }) else {
            throw StoreError(.unavailable, "the disk does not answer")
        }
        return try result.get()
    }
}

extension EntryBody {
    /// Opens the body. Blocks for as long as opening a file does, and for no longer than the store waits for its disk.
    ///
    /// - Throws: as `makeReader()`, and `unavailable` when the disk does not answer in time.
    package func makeBoundedReader() throws(StoreError) -> BoundedBodyReader { try BoundedBodyReader(self) }
}
