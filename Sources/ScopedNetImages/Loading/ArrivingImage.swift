import FoundationEssentials
@_spi(Transport) import ScopedNet
import SystemSupport

/// The file of one transfer while it arrives: looked at with each progress, as soon as its header is there, kept for a transfer that goes on with it, and
/// shown to those who make previews. Any thread. It holds views of the memory in which the body is collected, and no bytes of its own.
final class ArrivingImage: Sendable {
    /// Gets the number of the response, the header, and all bytes so far.
    typealias Watcher = @Sendable (UInt64, ImageHeader, Data) -> Void

    private struct State: Sendable {
        /// A transfer that is tried again has a response more: the last one is the one that counts.
        var number: UInt64 = 0
        var head: ResponseHead?
        var body: CollectedBody?
        var header: ImageHeader?
        var error: ImageError?
        /// The bytes that the header takes.
        var needed = 16
        /// The bytes that were shown last. Each time there have to be some more of them.
        var shown = 0
    }

    private let state = Lock(State())
    private let limits: ImageLimits
    private let partial: PartialImage?
    private let isWatched: @Sendable () -> Bool
    private let watcher: Watcher

    /// Makes a file of no bytes.
    ///
    /// - Parameters:
    ///   - partial: the beginning that came with an earlier transfer.
    ///   - limits: the most that it may ask for.
    ///   - isWatched: asked whether anybody wants its bytes before all have come.
    ///   - watcher: shown the file, again and again.
    init(
        after partial: PartialImage?, limits: ImageLimits, isWatched: @escaping @Sendable () -> Bool, _ watcher: @escaping Watcher
    ) {
        (self.limits, self.partial) = (limits, partial)
        (self.isWatched, self.watcher) = (isWatched, watcher)
    }

    /// The error for which the transfer was stopped.
    var error: ImageError? { state.withLock { $0.error } }

    /// The bytes that are there, with those of the earlier transfer.
    var count: Int {
        let now = state.withLock { $0 }
        return before(now).count + (now.body?.count ?? 0)
    }

    /// The part of the file that is there; nil where it is not known.
    var fraction: Double? {
        let now = state.withLock { $0 }
        guard let length = now.head?["content-length"].flatMap(Double.init) else { return nil }
        let total = length + Double(before(now).count)
        return total > 0 ? min(1, Double(count) / total) : nil
    }

    /// The bytes that have come, for a later transfer to go on with.
    var beginning: PartialImage? {
        let now = state.withLock { $0 }
        return now.head.flatMap { PartialImage(bytes(now), head: $0, after: partial) }
    }

    /// A response is there, whose bytes will be in `body`.
    func began(_ head: ResponseHead, _ body: CollectedBody) {
        let number = Identifier.next()
        let old = state.withLock { state in
            defer { state = State(number: number, head: head, body: body) }
            return state
        }
        _ = old
    }

    /// Looks at the bytes that have come.
    ///
    /// - Returns: false for a file that would be refused: the transfer is to be stopped.
    func look() -> Bool {
        let now = state.withLock { $0 }
        // In a coding it is no picture yet, and judged when it is whole. A part that does not fit what came before is none.
        guard let head = now.head, head["content-encoding"] == nil, head.status != 206 || isContinued(by: head) else { return true }
        let count = before(now).count + (now.body?.count ?? 0)
        if let header = now.header {
            if count >= now.shown + now.shown / 8, isWatched() { show(header, bytes(now), now.number) }
            return true
        }
        return count < now.needed || readHeader(now)
    }

    private func readHeader(_ now: State) -> Bool {
        // Of the beginning alone, where that is enough: joining it with the rest copies both.
        let (before, number) = (before(now), now.number)
        let data = before.count >= now.needed ? before : bytes(now)
        do throws(ImageError) {
            switch try ImageHeader.read(data, limits: limits) {
            case .needsMore(let count):
                // Not with each byte anew.
                change(number) { $0.needed = max(count, data.count + data.count / 4 + 1) }
            case .header(let header):
                try limits.checkFile(header)
                change(number) { $0.header = header }
                if isWatched() { show(header, bytes(now), number) }
            }
            return true
        } catch {
            return !change(number) { $0.error = error }
        }
    }

    private func show(_ header: ImageHeader, _ data: Data, _ number: UInt64) {
        if change(number, { $0.shown = data.count }) { watcher(number, header, data) }
    }

    /// - Returns: false where another response came meanwhile, and nothing was changed.
    @discardableResult
    private func change(_ number: UInt64, _ change: (inout State) -> Void) -> Bool {
        state.withLock { state in
            guard state.number == number else { return false }
            change(&state)
            return true
        }
    }

    private func before(_ now: State) -> Data { now.head.map(isContinued) == true ? partial?.data ?? Data() : Data() }

    private func isContinued(by head: ResponseHead) -> Bool { partial?.isContinued(by: head) == true }

    private func bytes(_ now: State) -> Data {
        let (before, data) = (before(now), now.body?.data ?? Data())
        return before.isEmpty ? data : before + data
    }
}
