import CStore
import Glibc

extension StoreConfiguration {
    /// Returns `name` in the user's folder for caches: the one that systemd made for the service
    /// (`CACHE_DIRECTORY`; the folder of that name where it made several, and itself where its name
    /// is `name`), else `$XDG_CACHE_HOME`, else `.cache` in `$HOME`, else in the home folder of the
    /// account.
    ///
    /// - Throws: ``StoreError`` with code `unavailable` where there is none of these, as in a
    ///   container without `HOME`, and for a name that is empty or leads out of that folder, such as
    ///   `../other`. Nothing falls back to `/tmp`.
    public static func cacheDirectory(_ name: String) throws(StoreError) -> String { try directory(.cache, name) }

    /// Returns `name` in the user's folder for what a program wants to find again and cannot fetch
    /// again, such as cookies: the one that systemd made for the service (`STATE_DIRECTORY`, by the
    /// rules of ``cacheDirectory(_:)``), else `$XDG_STATE_HOME`, else `.local/state` in `$HOME`,
    /// else in the home folder of the account.
    ///
    /// - Throws: as ``cacheDirectory(_:)``.
    public static func stateDirectory(_ name: String) throws(StoreError) -> String { try directory(.state, name) }

    /// A configuration for a folder of that name among the user's caches. Where there is no such
    /// folder the store has no disk and says why.
    package static func cache(_ name: String, limits: StoreLimits = StoreLimits()) -> StoreConfiguration { make(.cache, name, limits) }

    /// The same for what cannot be fetched again.
    package static func state(_ name: String) -> StoreConfiguration { make(.state, name, StoreLimits()) }

    private static func make(_ kind: UserDirectories.Kind, _ name: String, _ limits: StoreLimits) -> StoreConfiguration {
        do throws(StoreError) { return StoreConfiguration(directory: try directory(kind, name), limits: limits) } catch {
            var configuration = StoreConfiguration(directory: "", limits: limits)
            configuration.refusal = error
            return configuration
        }
    }

    /// The folder of all the user's caches.
    package static func cacheHome() throws(StoreError) -> String {
        try find(.cache) { (directories: UserDirectories) throws(StoreError) in try directories.folderOfAll(.cache) }
    }

    private static func directory(_ kind: UserDirectories.Kind, _ name: String) throws(StoreError) -> String {
        try find(kind) { (directories: UserDirectories) throws(StoreError) in try directories.directory(kind, name) }
    }

    private static func find(
        _ kind: UserDirectories.Kind, _ folder: (UserDirectories) throws(StoreError) -> String
    ) throws(StoreError) -> String {
        let service = kind == .cache ? "CACHE_DIRECTORY" : "STATE_DIRECTORY"
        let xdg = kind == .cache ? "XDG_CACHE_HOME" : "XDG_STATE_HOME"
        var directories = UserDirectories(service: environment(service), xdg: environment(xdg), home: environment("HOME"))
        if let found = try? folder(directories) { return found }
        // Asked last: it may take a question to a directory service.
        directories.accountHome = accountHome()
        return try folder(directories)
    }

    /// Nil in a program that has more rights than its caller, whose environment is then not to be
    /// trusted (secure_getenv(3)).
    private static func environment(_ name: String) -> String? {
        guard let value = cstore_environment(name) else { return nil }
        let text = String(cString: value)
        return text.isEmpty ? nil : text
    }

    /// The home folder of the user that the process acts as.
    private static func accountHome() -> String? {
        var buffer = [CChar](repeating: 0, count: 64 << 10)
        var account = passwd()
        var found: UnsafeMutablePointer<passwd>?
        guard getpwuid_r(geteuid(), &account, &buffer, buffer.count, &found) == 0, found != nil else { return nil }
        return account.pw_dir.map { String(cString: $0) }
    }
}
