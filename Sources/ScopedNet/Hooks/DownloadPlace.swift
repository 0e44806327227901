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
}
