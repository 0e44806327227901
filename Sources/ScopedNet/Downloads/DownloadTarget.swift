import Glibc

/// A file that something is downloaded to, under whatever path: two paths of one folder are the same.
struct DownloadTarget: Hashable, Sendable {
    private let device: UInt64
    private let folder: UInt64
    private let name: String

    /// Looks at the disk. Nil when there is no such folder.
    init?(_ names: PartNames) {
        var status = stat()
        guard stat(names.folder.isEmpty ? "." : names.folder, &status) == 0 else { return nil }
        device = UInt64(status.st_dev)
        folder = UInt64(status.st_ino)
        name = names.name
    }

    // Bytes: to the system two spellings of one accent are two names.
    static func == (left: DownloadTarget, right: DownloadTarget) -> Bool {
        left.device == right.device && left.folder == right.folder && left.name.utf8.elementsEqual(right.name.utf8)
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(device)
        hasher.combine(folder)
    }
}
