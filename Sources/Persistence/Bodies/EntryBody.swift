public import FoundationEssentials

/// The body of an entry: bytes at hand, or a file.
public struct EntryBody: Sendable {
    enum Storage: Sendable {
        case data(Data)
        case file(BodyFile)
    }

    let storage: Storage

    /// In bytes.
    public var length: Int {
        switch storage {
        case .data(let data): data.count
        case .file(let file): file.layout.length
        }
    }

    /// The bytes, when they are at hand. Larger bodies are in files, and read through `makeReader()`.
    public var data: Data? {
        if case .data(let data) = storage { return data }
        return nil
    }

    /// Opens the body. Blocks for as long as opening a file does, so not for a network thread.
    ///
    /// - Throws: `missing` when the entry was evicted since; `damaged` when the file is not as it was written.
    public func makeReader() throws(StoreError) -> BodyReader {
        switch storage {
        case .data(let data): BodyReader(data)
        case .file(let file): try file.makeReader()
        }
    }

    /// The whole body.
    ///
    /// - Throws: what `makeReader` and reading throw, and `tooLarge` when there are more than `limit` bytes.
    public func load(limit: Int) throws(StoreError) -> Data {
        guard length <= limit else { throw StoreError(.tooLarge, "the body has \(length) bytes, \(limit) were allowed") }
        if let data { return data }
        let reader = try makeReader()
        return try reader.read(at: 0, upTo: length)
    }
}

/// A body to store: bytes, or what a ``BodyWriter`` has gathered.
public struct NewBody: Sendable {
    let storage: EntryBody.Storage

    /// A body of bytes. Large ones are better written by a ``BodyWriter``, which keeps them out of memory.
    public static func data(_ data: Data) -> NewBody { NewBody(storage: .data(data)) }

    static func file(_ file: BodyFile) -> NewBody { NewBody(storage: .file(file)) }

    /// In bytes.
    public var length: Int { EntryBody(storage: storage).length }
}
