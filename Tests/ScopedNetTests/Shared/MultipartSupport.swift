import Foundation

/// A folder that goes with its owner.
final class PartFolder {
    let url: URL

    /// Makes a folder in `place`, by default the directory for temporary files.
    init(in place: URL = FileManager.default.temporaryDirectory) throws {
        url = place.appending(path: "scopednet-tests-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    func file(_ name: String, _ content: Data) throws -> URL {
        let file = url.appending(path: name)
        try content.write(to: file)
        return file
    }

    deinit { try? FileManager.default.removeItem(at: url) }
}

/// A sequence of pieces, which may end in an error.
struct PartPieces: AsyncSequence, Sendable {
    struct Interrupted: Error {}
    typealias Element = Data

    let texts: [String]
    let failsAtEnd: Bool

    init(_ texts: [String], failsAtEnd: Bool = false) {
        self.texts = texts
        self.failsAtEnd = failsAtEnd
    }

    func makeAsyncIterator() -> Iterator { Iterator(rest: texts[...], failsAtEnd: failsAtEnd) }

    struct Iterator: AsyncIteratorProtocol {
        var rest: ArraySlice<String>
        let failsAtEnd: Bool

        mutating func next() async throws -> Data? {
            if let text = rest.popFirst() { return Data(text.utf8) }
            if failsAtEnd { throw Interrupted() }
            return nil
        }
    }
}
