import Synchronization

/// How a body sequence is turned into uploads: once, or as often as needed.
package final class UploadSource: Sendable {
    package let length: Int64?
    package let isReplayable: Bool
    private let isUsed = Atomic<Bool>(false)
    private let pump: @Sendable (UploadStream) async throws -> Void

    init(length: Int64?, isReplayable: Bool, pump: @escaping @Sendable (UploadStream) async throws -> Void) {
        self.length = length
        self.isReplayable = isReplayable
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
