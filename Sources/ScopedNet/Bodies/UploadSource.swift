package import FoundationEssentials
import Synchronization

/// Takes the pieces of a body that is made while it is sent, with backpressure.
package struct UploadSink: Sendable {
    private let take: @Sendable (Data) async throws -> Void

    package init(_ take: @escaping @Sendable (Data) async throws -> Void) { self.take = take }

    /// Returns when there is place for the next piece. An empty one changes nothing.
    package func send(_ piece: Data) async throws { try await take(piece) }
}

/// How a body sequence is turned into uploads: once, or as often as needed.
package final class UploadSource: Sendable {
    package let length: Int64?
    package let isReplayable: Bool
    /// The file that it reads; opened once before a transfer begins, so that one which is not there is told before anything is sent.
    let path: String?
    private let isUsed = Atomic<Bool>(false)
    let pump: @Sendable (UploadSink) async throws -> Void

    init(length: Int64?, isReplayable: Bool, path: String? = nil, pump: @escaping @Sendable (UploadSink) async throws -> Void) {
        self.length = length
        self.isReplayable = isReplayable
        self.path = path
        self.pump = pump
    }

    /// - Throws: `bodyNotReplayable` at the second use of a one-shot sequence.
    package func open() throws(NetworkError) -> UploadStream {
        if isUsed.exchange(true, ordering: .relaxed), !isReplayable {
            throw NetworkError(
                .bodyNotReplayable, phase: .preparing,
                message: "the body sequence can be read once and has been; pass isReplayable: true or a new body")
        }
        return UploadStream(length: length, pump: pump)
    }
}
