import Glibc

/// The search for the program `scopednet-decoder`.
struct HelperLocation: Sendable, Hashable {
    static let name = "scopednet-decoder"
    static let variable = "SCOPEDNET_DECODER"

    /// The path that the program has chosen.
    var explicit: String?
    /// The value of `SCOPEDNET_DECODER`.
    var variable: String?
    /// The path of the running program itself.
    var executable: String?
    /// The value of `PATH`.
    var searchPath: String?

    /// The paths at which it may be, in order. A path that was chosen is the only one. (pure)
    var candidates: [String] {
        for chosen in [explicit, variable] { if let chosen, !chosen.isEmpty { return [chosen] } }
        let beside = executable.flatMap { path in path.lastIndex(of: "/").map { String(path[...$0]) + Self.name } }
        // A relative folder would depend on where the process happens to be.
        let folders = (searchPath ?? "").split(separator: ":").filter { $0.hasPrefix("/") }
        return [beside].compactMap(\.self) + folders.map { "\($0)/\(Self.name)" }
    }

    /// The first candidate that can be executed.
    func find() throws(ImageIsolationError) -> String {
        let candidates = candidates
        guard let found = candidates.first(where: { access($0, X_OK) == 0 }) else { throw .helperMissing(looked: candidates) }
        return found
    }

    /// The location with the environment of this process. The environment of a program with more rights than its user has is not looked at.
    static func current(explicit: String?) -> HelperLocation {
        HelperLocation(
            explicit: explicit, variable: value(of: variable), executable: path(of: "/proc/self/exe"), searchPath: value(of: "PATH"))
    }

    /// The value of a variable of the environment, which a set-user-ID program does not trust.
    static func value(of variable: String) -> String? {
        guard getuid() == geteuid(), getgid() == getegid() else { return nil }
        return getenv(variable).map { String(cString: $0) }
    }

    private static func path(of link: String) -> String? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX)) { buffer in
            guard let start = buffer.baseAddress else { return nil }
            // Safety: readlink(2) writes `buffer.count` bytes at most, and returns how many.
            let count = readlink(link, start, buffer.count)
            guard count > 0, count < buffer.count else { return nil }
            return String(decoding: UnsafeRawBufferPointer(start: start, count: count), as: UTF8.self)
        }
    }
}
