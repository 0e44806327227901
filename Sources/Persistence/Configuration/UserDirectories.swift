/// The folders in which the programs of a user keep what is theirs, from the environment. (pure)
///
/// The service manager's word goes first: it made the folder for exactly this program, and often
/// lets it write nowhere else (systemd.exec(5), `CacheDirectory=`, `StateDirectory=`). Then come
/// the XDG Base Directory Specification, the home folder of the environment, and that of the
/// account. There is no last resort: a place where everybody may write is none.
struct UserDirectories: Sendable, Hashable {
    enum Kind: Sendable, Hashable { case cache, state }

    /// `CACHE_DIRECTORY` or `STATE_DIRECTORY`: one path or several, with colons between them.
    var service: String?
    /// `XDG_CACHE_HOME` or `XDG_STATE_HOME`.
    var xdg: String?
    /// `HOME`.
    var home: String?
    /// The home folder in the user database.
    var accountHome: String?

    /// The folder of a program.
    ///
    /// - Throws: `unavailable` where there is none, with what can be done about it, and for a name
    ///   that is none.
    func directory(_ kind: Kind, _ name: String) throws(StoreError) -> String {
        guard Self.isName(name) else {
            throw StoreError(.unavailable, "'\(name)' names no folder: it must lie in the folder of the user, below it")
        }
        return try folder(kind, name)
    }

    /// The folder in which those of all programs are; in a service, the one with its name.
    func folderOfAll(_ kind: Kind) throws(StoreError) -> String { try folder(kind, "") }

    private func folder(_ kind: Kind, _ name: String) throws(StoreError) -> String {
        if let service = serviceDirectory(name) { return service }
        if let xdg, Self.isUsable(xdg) { return "\(xdg)/\(name)" }
        for home in [home, accountHome] {
            if let home, Self.isUsable(home) { return "\(home)/\(kind.folder)/\(name)" }
        }
        throw StoreError(.unavailable, kind.advice)
    }

    /// The one of that name among several, else a folder in the first.
    private func serviceDirectory(_ name: String) -> String? {
        let paths = (service ?? "").utf8.split(separator: UInt8(ascii: ":")).map { String(decoding: $0, as: UTF8.self) }.filter(
            Self.isUsable)
        let own = paths.first { $0.utf8.split(separator: UInt8(ascii: "/")).last.map { $0.elementsEqual(name.utf8) } == true }
        return own ?? paths.first.map { "\($0)/\(name)" }
    }

    /// A path that leads down, and nowhere else.
    private static func isName(_ name: String) -> Bool {
        !name.utf8.contains(0)
            && name.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).allSatisfy { part in
                !part.isEmpty && !part.elementsEqual(".".utf8) && !part.elementsEqual("..".utf8)
            }
    }

    /// Accounts without a home have one of these by convention.
    private static func isUsable(_ path: String) -> Bool {
        path.utf8.first == UInt8(ascii: "/") && path != "/" && path != "/nonexistent" && !path.hasPrefix("/nonexistent/")
    }
}

extension UserDirectories.Kind {
    fileprivate var folder: String {
        switch self {
        case .cache: ".cache"
        case .state: ".local/state"
        }
    }

    fileprivate var advice: String {
        switch self {
        case .cache:
            "there is no folder for caches: set XDG_CACHE_HOME or HOME, or CacheDirectory= in the unit of a service, or name a folder of your own"
        case .state:
            "there is no folder for the state of programs: set XDG_STATE_HOME or HOME, or StateDirectory= in the unit of a service, or name a folder of your own"
        }
    }
}
