import Glibc

/// A file that is being written, open, in the folder of those that are not complete.
///
/// Its name is known to nobody else, so that a file under a name that others look for appears complete or not at all.
struct TemporaryFile: Sendable {
    let folder: TrustedFolder
    let name: String
    let descriptor: Int32

    var path: String { folder.path + "/" + name }

    /// Removes the name, and closes the file.
    func discard() {
        folder.remove(name)
        close(descriptor)
    }
}
