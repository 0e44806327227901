import ScopedNet

/// The file name a URL ends with, as for `-O` (pure). What a stranger's URL says never leads out of the folder.
enum RemoteName {
    /// Nil where the path has no last segment, or one that is no name of a file.
    static func of(_ url: String) -> String? {
        let withoutQuery = url.utf8.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        let segments = withoutQuery.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        // `https:`, nothing, the host, and the path.
        guard segments.count > 3, let last = segments.last, let name = PercentEncoding.unescaped(String(decoding: last, as: UTF8.self)),
            !name.isEmpty, name != ".", name != "..", name.utf8.count < 256,
            name.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7f && $0 != UInt8(ascii: "/") })
        else { return nil }
        return name
    }
}
