import Foundation
import HTTPTypes
import ScopedNet

/// Something the user has said shall be sent: its upload is detached, so it goes on when the page is closed.
@MainActor
final class MemoPage {
    private let bag = DeallocBag(label: "Memo")
    private let session: Session

    private(set) var isSent = false

    init(session: Session) { self.session = session }

    func send(_ memo: VoiceMemo) {
        session.request("memos", method: .post, body: .stream(memo, length: memo.byteCount))
            .options { $0.release = .detached }
            .onSuccess(for: self) { page, _ in page.isSent = true }
            .start(in: bag)
    }
}

/// A recording that is uploaded while it is being made.
struct VoiceMemo: AsyncSequence, Sendable {
    let pieces: Int
    let interval: Duration
    private static let pieceSize = 64 << 10

    var byteCount: Int64 { Int64(pieces * Self.pieceSize) }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(memo: self) }

    struct AsyncIterator: AsyncIteratorProtocol {
        let memo: VoiceMemo
        private var made = 0

        init(memo: VoiceMemo) { self.memo = memo }

        mutating func next() async throws -> Data? {
            guard made < memo.pieces else { return nil }
            try await Task.sleep(for: memo.interval)
            defer { made += 1 }
            return Data(repeating: UInt8(truncatingIfNeeded: made), count: VoiceMemo.pieceSize)
        }
    }
}
