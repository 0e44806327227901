package import Foundation

/// A folder that is gone when the test is over.
package final class Folder: Sendable {
    package let url = FileManager.default.temporaryDirectory.appending(path: "scopednet-tool-\(UUID().uuidString)")

    package init() throws { try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true) }

    deinit { try? FileManager.default.removeItem(at: url) }

    package func path(_ name: String) -> String { url.appending(path: name).path }

    /// What is in it, hidden files too.
    package var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? []).sorted() }

    package func text(_ name: String) throws -> String { try String(contentsOfFile: path(name), encoding: .utf8) }
}
