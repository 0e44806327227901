import Foundation

/// A folder that is gone when the last user is.
final class TemporaryFolder: Sendable {
    let path: String

    init() {
        path = NSTemporaryDirectory() + "scopednet-" + UUID().uuidString
        try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    func write(_ text: String, to name: String) -> String {
        write(Data(text.utf8), to: name)
    }

    func write(_ data: Data, to name: String) -> String {
        let file = path + "/" + name
        _ = FileManager.default.createFile(atPath: file, contents: data)
        return file
    }

    var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }

    func contents(of name: String) -> Data? { FileManager.default.contents(atPath: path + "/" + name) }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}
