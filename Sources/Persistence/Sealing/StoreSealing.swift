public import FoundationEssentials

/// Encrypts what a store writes to disk: bodies, metadata, names of entries, and the data of records.
///
/// Memory holds everything as it is. Sizes, times and the number of entries stay visible, and so do the names of records. With the trait
/// `Encryption` there is one to use, `AESGCMSealing`; another one must be as good: what is opened must be what was sealed, for the same context,
/// or an error.
public protocol StoreSealing: Sendable {
    /// How many bytes sealing adds.
    var overhead: Int { get }

    /// Seals a text. The context is not written, and has to be the same when it is opened.
    func seal(_ text: Data, context: Data) throws(StoreError) -> Data

    /// Opens a sealed text. Throws `damaged` when it was not sealed with this key, for this context, or has changed since.
    func open(_ sealed: Data, context: Data) throws(StoreError) -> Data

    /// A keyed hash of 16 bytes or more, by which names are found that are not written.
    func hash(_ text: Data) -> Data
}

/// What is sealed for what: a piece that is put in another's place does not open.
enum SealingContext {
    static func metadata(_ generation: Int64) -> Data { context("metadata", generation) }
    static func body(_ generation: Int64) -> Data { context("body", generation) }
    static func record(_ name: String, in namespace: String) -> Data {
        Data("record \(namespace.utf8.count) \(namespace)\(name)".utf8)
    }
    /// The context of a frame of a body; `salt` is that of the file.
    static func frame(_ index: Int, salt: [UInt8]) -> Data { context("frame", Int64(index)) + salt }

    private static func context(_ kind: String, _ number: Int64) -> Data {
        Data(kind.utf8) + withUnsafeBytes(of: number.littleEndian) { Data($0) }
    }
}

extension StoreSealing {
    /// In place of a name.
    func hidden(_ name: String, _ kind: String) -> String {
        hash(Data("\(kind) \(name)".utf8)).prefix(16).map { byte in
            let digits = String(byte, radix: 16)
            return byte < 16 ? "0" + digits : digits
        }.joined()
    }

    /// What tells whether a store was written with this key.
    var fingerprint: Data {
        hash(Data("fingerprint".utf8)).prefix(16) + withUnsafeBytes(of: UInt32(clamping: overhead).littleEndian) { Data($0) }
    }
}
