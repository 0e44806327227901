import Foundation

/// A folder that is gone when the last user is.
final class TemporaryFolder: Sendable {
    let path = NSTemporaryDirectory() + "scopednet-" + UUID().uuidString

    deinit { try? FileManager.default.removeItem(atPath: path) }
}
