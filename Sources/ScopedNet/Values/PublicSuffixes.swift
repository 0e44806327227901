internal import Glibc

/// Domains under which anybody may have a name, such as `com` and `co.uk`: cookies for all of them would be everybody's.
///
/// libpsl knows the list (publicsuffix.org) and keeps it up to date; libcurl comes with it on most systems, so it is opened where it is and no
/// dependency of its own. Without it the rules of thumb below hold.
enum PublicSuffixes {
    /// Whether libpsl answers. Opens it at the first call.
    static var isComplete: Bool { library != nil }

    /// Returns true for a public suffix. The domain is lower case, without dots at its ends.
    static func contains(_ domain: String) -> Bool {
        guard let library else { return isLikely(domain) }
        return library.isPublicSuffix(library.list, domain) != 0
    }

    /// A top-level domain, or what a country's registry is known to sell names under. (pure)
    static func isLikely(_ domain: String) -> Bool {
        let labels = domain.split(separator: ".", omittingEmptySubsequences: false)
        guard labels.count > 1 else { return true }
        return labels.count == 2 && labels[1].utf8.count == 2 && registries.contains(String(labels[0]))
    }

    private static let registries: Set<String> = [
        "ac", "co", "com", "edu", "go", "gob", "gov", "govt", "gouv", "mil", "ne", "net", "nom", "or", "org", "school", "sch",
    ]

    private struct Library: @unchecked Sendable {
        // Safety: a list that libpsl made and nobody changes or frees; psl_is_public_suffix(3) only reads it.
        let list: OpaquePointer
        let isPublicSuffix: @convention(c) (OpaquePointer, UnsafePointer<CChar>) -> CInt
    }

    private static let library: Library? = {
        guard let handle = dlopen("libpsl.so.5", RTLD_NOW | RTLD_LOCAL), let test = dlsym(handle, "psl_is_public_suffix") else {
            return nil
        }
        // The system's file where it is newer than the library, else what is built in.
        typealias Latest = @convention(c) (UnsafePointer<CChar>?) -> OpaquePointer?
        typealias BuiltIn = @convention(c) () -> OpaquePointer?
        let latest = dlsym(handle, "psl_latest").map { unsafeBitCast($0, to: Latest.self) }
        let builtIn = dlsym(handle, "psl_builtin").map { unsafeBitCast($0, to: BuiltIn.self) }
        guard let list = latest?(nil) ?? builtIn?() else { return nil }
        return Library(
            list: list, isPublicSuffix: unsafeBitCast(test, to: (@convention(c) (OpaquePointer, UnsafePointer<CChar>) -> CInt).self))
    }()
}
