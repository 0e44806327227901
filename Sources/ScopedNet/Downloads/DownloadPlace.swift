import FoundationEssentials

/// Where the file of a download goes. (pure)
struct DownloadPlace: Sendable, Hashable {
    let path: String
    /// The program named a folder, and the server the file in it: a file that is there already is
    /// nobody's to replace (RFC 6266 section 4.3).
    let isNamedByServer: Bool

    /// Takes the path that the program gave. One that ends with a slash is a folder, and needs a name.
    init(_ given: String, head: ResponseHead, url: String) {
        isNamedByServer = given.utf8.last == UInt8(ascii: "/")
        path = isNamedByServer ? given + DownloadName.name(contentDisposition: head["content-disposition"], url: url) : given
    }

    /// The path that the check before the start refuses: nothing for a URL of another scheme, and a path with its NUL, where `path` would just end.
    static func path(_ file: URL) -> String {
        guard file.isFileURL else { return "" }
        let path = file.hasDirectoryPath && file.path != "/" ? file.path + "/" : file.path
        return file.path(percentEncoded: true).contains("%00") ? path + "\0" : path
    }
}
