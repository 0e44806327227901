import Foundation
import Glibc
import Persistence
import ScopedNet

/// Stores eight responses and the cookies that come with them, none of which would be written for an hour, and ends in the way it is told.
enum OrderedEnd {
    /// As a program keeps it that ends without letting it go.
    nonisolated(unsafe) private static var kept: Session?  // Safety: written and read on the main task only.

    static func run(url: String, folder: String, how: String) async throws {
        var store = StoreConfiguration(directory: folder + "/cache")
        store.limits.dirtyAge = .seconds(3600)
        var configuration = Session.Configuration(agent: RequestAgent())
        configuration.proxy = .none
        configuration.cache = ResponseCache(store)
        configuration.cookies = await CookieJar(StoreConfiguration(directory: folder + "/cookies"))
        if how == "scope" { return try await fill(Session(configuration: configuration), url) }
        let session = Session(configuration: configuration)
        kept = session
        try await fill(session, url)
        switch how {
        case "exit": exit(0)
        case "thread":
            Thread.detachNewThread { exit(0) }
            // The other thread ends the process; there is nothing to wait for here.
            while true { try await Task.sleep(for: .seconds(60)) }
        case "shutdown":
            await session.shutdown()
            // Nothing of what an ordered end does.
            _exit(0)
        default: return
        }
    }

    private static func fill(_ session: Session, _ url: String) async throws {
        for index in 0..<8 { _ = try await session.request("\(url)\(index)").response() }
    }
}
