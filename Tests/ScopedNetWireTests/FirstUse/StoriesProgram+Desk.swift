import Foundation
import HTTPTypes
import ScopedNet

/// The desk at which stories are edited.
extension StoriesProgram {
    struct Draft: Codable, Sendable, Equatable {
        var title: String
        var isUrgent = false
    }

    /// The desk may run long, and be at a server that is not in the DNS yet: it asks little, and only over TLS where the server once said so.
    static func deskSession(_ url: String, address: String, hsts: Session.HSTSStore) -> Session {
        session(url).with {
            $0.resolves = [.init("desk.test", port: URL(string: url)?.port ?? 80, to: [address])]
            $0.rateLimit = .init(requestsPerSecond: 50)
            $0.hsts = hsts
        }
    }

    @MainActor
    final class DeskModel: RequestOwner {
        struct Unversioned: Error {}

        nonisolated let deallocBag = DeallocBag()
        private let session: Session
        private(set) var log: [String] = []

        init(session: Session) { self.session = session }

        /// Before the first letter is typed.
        func open() async throws { try await session.preconnect(to: "") }

        /// The whole story, before everything else that is under way. A server that keeps no versions is not ours.
        func save(_ draft: Draft, as id: Int) async throws {
            let response = try await session.put("stories/\(id)", json: draft, as: Story.self)
                .priority(.high).tag("desk").retry(RetryPolicy(maxAttempts: 3, backoffBase: .zero))
                .validate { head, _ in if head.headers[.eTag] == nil { throw Unversioned() } }
                .response(in: deallocBag)
            log.append("\(response)")
        }

        /// The story may be open elsewhere for a moment.
        func rename(_ id: Int, to title: String) async throws {
            try await session.patch("stories/\(id)", json: ["title": title, "edited": Date(timeIntervalSince1970: 0)], as: Void.self)
                .decideRetry { $0.head?.status == 423 && $0.attempt < 3 ? .retry(after: .zero) : .asDecided }
                .value(in: deallocBag)
        }

        func isPublished(_ id: Int) async -> Bool {
            do throws(NetworkError) {
                return try await session.head("stories/\(id)").cache(.off).value(in: deallocBag).status == 200
            } catch {
                log.append("\(error)")
                return false
            }
        }

        /// A photo has a URL of its own.
        func photo(_ url: URL) async throws -> Data { try await session.get(url, as: Data.self).value(in: deallocBag) }

        /// All that the desk has done, much of the same words.
        func report(_ words: [String]) async throws {
            try await session.post("reports", body: .json(words).compressed(), as: Void.self).value(in: deallocBag)
        }

        /// The changes of the day, as the server writes them.
        func follow() async throws {
            for try await line in try await session.stream("changes").lines { log.append(line) }
        }

        /// Nothing of the desk goes on when it is closed.
        func close() { session.agent.cancelAll(tag: "desk") }
    }
}
