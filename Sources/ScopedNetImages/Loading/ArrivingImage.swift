import FoundationEssentials
import ScopedNet
import SystemSupport

/// The file of one transfer while it arrives: looked at as soon as its header is there, kept for a transfer that breaks off, and shown to those who
/// make previews. Any thread.
///
/// A transfer that is tried again is read again, in a task of its own beside that of the attempt before: each reading has a number, and the last one that
/// began is the one that counts.
final class ArrivingImage: Sendable {
    /// Gets the number of the reading, the header, and all bytes so far.
    typealias Watcher = @Sendable (UInt64, ImageHeader, Data) -> Void

    private struct State: Sendable {
        var reading: UInt64 = 0
        var head: ResponseHead?
        var data = Data()
        /// With what came before this transfer; also where the bytes are not kept.
        var received = 0
        var header: ImageHeader?
        var error: ImageError?
        /// The bytes that the header takes.
        var needed = 16
        /// The bytes that were shown last. Each time there have to be some more of them: a watcher that keeps them makes the next piece a copy of all.
        var shown = 0
    }

    private enum Answer { case more, enough, refused }

    private let state = Lock(State())
    private let limits: ImageLimits
    private let partial: PartialImage?
    private let keeps: Bool
    private let isWatched: @Sendable () -> Bool
    private let watcher: Watcher

    /// Makes a file of no bytes.
    ///
    /// - Parameters:
    ///   - partial: the beginning that came with an earlier transfer.
    ///   - limits: the most that it may ask for.
    ///   - keeps: true where its beginning is kept for a later transfer.
    ///   - isWatched: asked whether its bytes are worth keeping for `watcher`.
    ///   - watcher: shown the file, again and again.
    init(
        after partial: PartialImage?, limits: ImageLimits, keeps: Bool, isWatched: @escaping @Sendable () -> Bool,
        _ watcher: @escaping Watcher
    ) {
        (self.limits, self.partial, self.keeps) = (limits, partial, keeps)
        (self.isWatched, self.watcher) = (isWatched, watcher)
    }

    /// The error for which the transfer was stopped.
    var error: ImageError? { state.withLock { $0.error } }
    var count: Int { state.withLock { $0.data.count } }

    /// The part of the file that is there; nil where it is not known.
    var fraction: Double? {
        let (received, head) = state.withLock { ($0.received, $0.head) }
        guard let head, let length = head["content-length"].flatMap(Double.init) else { return nil }
        let total = length + Double(head.status == 206 ? partial?.data.count ?? 0 : 0)
        return total > 0 ? min(1, Double(received) / total) : nil
    }

    /// The bytes that have come, for a later transfer to go on with.
    var beginning: PartialImage? {
        let (data, head) = state.withLock { ($0.data, $0.head) }
        return head.flatMap { PartialImage(data, head: $0, after: partial) }
    }

    /// Reads a body. `stop` ends the transfer of a file that would be refused.
    func read(_ head: ResponseHead, _ bytes: StreamedResponse.Bytes, stop: () -> Void) async throws {
        let reading = Identifier.next()
        let prefix = head.status == 206 ? partial?.data ?? Data() : Data()
        state.withLock { $0 = State(reading: reading, head: head, data: prefix, received: prefix.count) }
        for try await piece in bytes {
            switch take(piece, reading) {
            case .more: continue
            case .enough: return
            case .refused: return stop()
            }
        }
    }

    private func take(_ piece: Data, _ reading: UInt64) -> Answer {
        let isWatched = isWatched()
        let (data, known) = state.withLock { state -> (Data?, ImageHeader?) in
            guard state.reading == reading else { return (nil, nil) }
            state.received += piece.count
            // Its pixels are bounded: the rest is counted, and nothing else.
            if state.header != nil, !isWatched, !keeps || !PartialImage.mayFollow(state.head, partial) {
                state.data = Data()
                return (Data(), state.header)
            }
            state.data.append(piece)
            let isDue =
                state.header == nil ? state.data.count >= state.needed : isWatched && state.data.count >= state.shown + state.shown / 8
            return (isDue ? state.data : Data(), state.header)
        }
        guard let data else { return .enough }
        if data.isEmpty { return .more }
        if let known {
            state.withLock { if $0.reading == reading { $0.shown = data.count } }
            watcher(reading, known, data)
            return .more
        }
        return look(at: data, reading)
    }

    private func look(at data: Data, _ reading: UInt64) -> Answer {
        do throws(ImageError) {
            switch try ImageHeader.read(data, limits: limits) {
            case .needsMore(let count):
                // Not with each byte anew.
                state.withLock { if $0.reading == reading { $0.needed = max(count, data.count + data.count / 4 + 1) } }
            case .header(let header):
                try limits.checkFile(header)
                state.withLock { if $0.reading == reading { ($0.header, $0.shown) = (header, data.count) } }
                watcher(reading, header, data)
            }
            return .more
        } catch {
            return state.withLock { state in
                guard state.reading == reading else { return .enough }
                state.error = error
                return .refused
            }
        }
    }
}
