import FoundationEssentials
import Glibc

/// Paths as people write them.
enum FilePlace {
    /// A relative one would have its `~` expanded, and its `..` taken away without a look at links.
    static func url(_ path: String) -> URL {
        URL(filePath: path.hasPrefix("/") ? path : "\(FileManager.default.currentDirectoryPath)/\(path)")
    }

    /// Before anything is fetched in vain.
    ///
    /// - Throws: a ``ToolFailure`` where something is that is no file to replace.
    static func checkReplaceable(_ path: String) throws(ToolFailure) {
        var status = stat()
        guard stat(path, &status) == 0 else { return }
        switch status.st_mode & S_IFMT {
        case S_IFREG: return
        case S_IFDIR: throw ToolFailure(.cannotWrite, "\(path) is a folder\n  name the file, as in -o \(path)/FILE")
        default: throw ToolFailure(.cannotWrite, "\(path) is no file that could be replaced\n  \(Advice.noFile)")
        }
    }
}
