import FoundationEssentials
import ScopedNet
import SystemSupport

/// The file of one transfer while it arrives: looked at as soon as its header is there, kept for a transfer that breaks off, and shown to those who
/// make previews. Any thread.
final class ArrivingImage: Sendable {
    typealias Watcher = @Sendable (ImageHeader, Data) -> Void

    private struct State: Sendable {
        var head: ResponseHead?
        var data = Data()
        var header: ImageHeader?
        var error: ImageError?
        /// The bytes that the header takes.
        var needed = 16
        var watchers: [UInt64: Watcher] = [:]
    }

    private let state = Lock(State())
    private let limits: ImageLimits

    init(limits: ImageLimits) { self.limits = limits }

    /// The error for which the transfer was stopped.
    var error: ImageError? { state.withLock { $0.error } }
    var count: Int { state.withLock { $0.data.count } }
    /// The part of the file that is there; nil where it is not known.
    var fraction: Double? {
        state.withLock { state in
            guard let total = state.head?["content-length"].flatMap(Double.init), total > 0 else { return nil }
            return min(1, Double(state.data.count) / total)
        }
    }
    /// The bytes that have come, for a later transfer to go on with.
    var partial: PartialImage? { state.withLock { state in state.head.flatMap { PartialImage(state.data, head: $0) } } }

    func watch(_ id: UInt64, _ watcher: @escaping Watcher) {
        let known = state.withLock { state -> (ImageHeader, Data)? in
            state.watchers[id] = watcher
            return state.header.map { ($0, state.data) }
        }
        if let (header, data) = known { watcher(header, data) }
    }

    func unwatch(_ id: UInt64) { _ = state.withLock { $0.watchers.removeValue(forKey: id) } }

    /// Reads a body. `prefix` is what came with an earlier transfer; `stop` ends a transfer of what would be refused.
    func read(_ head: ResponseHead, _ bytes: StreamedResponse.Bytes, after prefix: Data, keeping: Bool, stop: () -> Void) async throws {
        state.withLock { state in
            state.head = head
            state.data = head.status == 206 ? prefix : Data()
            (state.header, state.needed) = (nil, 16)
        }
        for try await piece in bytes {
            guard take(piece) else { return stop() }
            // Its pixels are bounded now: nobody wants more of it before it is whole.
            if !keeping, state.withLock({ $0.header != nil && $0.watchers.isEmpty }) { return state.withLock { $0.data = Data() } }
        }
    }

    /// - Returns: false for a file that is not worth the rest.
    private func take(_ piece: Data) -> Bool {
        let (data, header, needed, watchers) = state.withLock { state in
            state.data.append(piece)
            return (state.data.count < state.needed && state.header == nil ? nil : state.data, state.header, state.needed, state.watchers)
        }
        guard let data, data.count >= needed || header != nil else { return true }
        if let header {
            for watcher in watchers.values { watcher(header, data) }
            return true
        }
        do throws(ImageError) {
            switch try ImageHeader.read(data, limits: limits) {
            case .needsMore(let count): state.withLock { $0.needed = max(count, data.count + 1) }
            case .header(let header):
                try limits.checkFile(header)
                state.withLock { $0.header = header }
                for watcher in watchers.values { watcher(header, data) }
            }
            return true
        } catch {
            state.withLock { $0.error = error }
            return false
        }
    }
}
