import CStore
import Glibc
import SystemSupport

/// The values that the rule needs, from the system.
extension FileTrust {
    /// For the user that the process acts as now.
    package static var current: FileTrust { FileTrust(user: geteuid(), unmappedOwner: unmappedOwner) }

    /// Found once: a process that enters another user namespace does so before it has threads
    /// (unshare(2)).
    private static let unmappedOwner: UInt32? = {
        let map = words("/proc/self/uid_map")
        guard !map.isEmpty, map != ["0", "0", "4294967295"] else { return nil }
        return words("/proc/sys/kernel/overflowuid").first.flatMap { UInt32($0) } ?? 65_534
    }()

    private static func words(_ path: String) -> [String] {
        (SmallFile.text(at: path, limit: 512) ?? "").utf8.split { $0 == 0x20 || $0 == 0x0A }.map { String(decoding: $0, as: UTF8.self) }
    }

    /// True for the group that many systems make for each user: the user's first group, of
    /// the same name, without other members.
    static func isPrivate(_ group: UInt32, of user: UInt32) -> Bool {
        var buffer = [CChar](repeating: 0, count: 64 << 10)
        var account = passwd()
        var found: UnsafeMutablePointer<passwd>?
        guard getpwuid_r(user, &account, &buffer, buffer.count, &found) == 0, found != nil, account.pw_gid == group,
            let userName = account.pw_name.map({ String(cString: $0) })
        else { return false }
        var entry = Glibc.group()
        var foundGroup: UnsafeMutablePointer<Glibc.group>?
        guard getgrgid_r(group, &entry, &buffer, buffer.count, &foundGroup) == 0, foundGroup != nil,
            entry.gr_name.map({ String(cString: $0) }) == userName, var member = entry.gr_mem
        else { return false }
        while let name = member.pointee {
            if String(cString: name) != userName { return false }
            member += 1
        }
        return true
    }
}

extension FileTrust.Facts {
    /// Of what is open.
    init?(_ opened: Int32) {
        var status = stat()
        guard fstat(opened, &status) == 0 else { return nil }
        self.init(status)
        if mode & 0o020 != 0, kind == .folder { hasAccessList = cstore_has_access_list(opened) != 0 }
    }

    /// Of a name in a folder.
    init?(_ name: String, in folder: Int32) {
        var status = stat()
        guard fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else { return nil }
        self.init(status)
    }

    private init(_ status: stat) {
        let kind: Kind =
            switch status.st_mode & S_IFMT {
            case S_IFDIR: .folder
            case S_IFREG: .file
            case S_IFLNK: .link
            default: .other
            }
        self.init(kind, owner: status.st_uid, group: status.st_gid, mode: status.st_mode & 0o7777)
    }
}
