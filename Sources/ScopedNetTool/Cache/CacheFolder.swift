import FoundationEssentials
import Persistence

/// The folders of caches, and the error for one that cannot be used.
enum CacheFolder {
    /// - Throws: a ``ToolFailure`` where there is no folder for caches.
    static func path(of name: String) throws(ToolFailure) -> String {
        if name.contains("/") { return URL(filePath: name).standardizedFileURL.path }
        do throws(StoreError) { return try StoreConfiguration.cacheDirectory(name) } catch { throw ToolFailure(.noInput, "\(error)") }
    }

    /// The folder of the user's caches, and the names of all in it, in order.
    static func all() throws(ToolFailure) -> (home: String, names: [String]) {
        let home: String
        do throws(StoreError) { home = try StoreConfiguration.cacheHome() } catch { throw ToolFailure(.noInput, "\(error)") }
        let names = (try? FileManager.default.contentsOfDirectory(atPath: home)) ?? []
        return (home, names.filter { StoreInspector.isStore("\(home)/\($0)") }.sorted())
    }

    static func failure(_ error: StoreError, _ directory: String) -> ToolFailure {
        switch error.code {
        case .missing:
            ToolFailure(.noInput, "\(directory): there is no cache\n  'scopednet cache stats' lists those of this user")
        case .damaged:
            ToolFailure(
                .damaged, "\(directory): the cache is damaged: \(error)\n  its program replaces it when it opens it next, as does 'clear'")
        default: ToolFailure(.system, "\(directory): \(error)")
        }
    }
}
