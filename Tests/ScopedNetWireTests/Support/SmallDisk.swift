import Glibc

/// A disk of a mebibyte: a tmpfs over a folder, which takes the right to mount.
enum SmallDisk {
    static let isAllowed: Bool = {
        let folder = TemporaryFolder()
        guard mount(over: folder) == 0 else { return false }
        umount2(folder.path, Int32(MNT_DETACH))
        return true
    }()

    /// - Returns: zero, or -1 with `errno`.
    static func mount(over folder: TemporaryFolder) -> Int32 { Glibc.mount("tmpfs", folder.path, "tmpfs", 0, "size=1m") }
}
