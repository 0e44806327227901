import FoundationEssentials
import Glibc

/// Paths as people write them.
enum FilePlace {
    /// A relative one would have its `~` expanded, and its `..` taken away without a look at links.
    static func url(_ path: String) -> URL {
        URL(filePath: path.hasPrefix("/") ? path : "\(FileManager.default.currentDirectoryPath)/\(path)")
    }

    /// A new name in the folder of a file; 255 bytes are the most (NAME_MAX), 4 a letter at most.
    static func beside(_ path: String) -> String {
        // Bytes: a slash with an accent behind it is another `Character`.
        let start = path.utf8.lastIndex(of: UInt8(ascii: "/")).map(path.utf8.index(after:)) ?? path.startIndex
        let stem = String(String.UnicodeScalarView(path[start...].unicodeScalars.prefix(48)))
        return "\(path[..<start])\(stem).scopednet-\(UInt64.random(in: .min ... .max))"
    }

    /// What was for few eyes stays so: the mode of the file that is replaced, 0666 where there is none; less the umask.
    static func mode(for path: String) -> mode_t {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return 0o666 }
        return status.st_mode & 0o777 | 0o600
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
