import SystemSupport

/// The elements from a run to one reader: a bounded buffer, and the end.
///
/// Any thread writes; one task reads.
final class RunChannel<Element: Sendable>: Sendable {
    private struct State {
        var buffer: [Element] = []
        var end: NetworkError??
        var reader: CheckedContinuation<Void, Never>?
    }

    private let state = Lock(State())
    private let limit: Int

    /// - Parameter limit: how many wait for the reader; beyond that the oldest one goes.
    init(limit: Int) { self.limit = limit }

    /// Hands an element to the reader. `isSuperseded` is asked about the newest that waits: it goes when this one comes.
    func send(_ element: Element, insteadOf isSuperseded: (Element) -> Bool = { _ in false }) {
        let reader = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard state.end == nil else { return nil }
            if let last = state.buffer.last, isSuperseded(last) { state.buffer.removeLast() }
            if state.buffer.count >= limit { state.buffer.removeFirst() }
            state.buffer.append(element)
            defer { state.reader = nil }
            return state.reader
        }
        reader?.resume()
    }

    /// Ends the channel; the elements that wait are still read.
    func finish(_ error: NetworkError?) {
        let reader = state.withLock { state -> CheckedContinuation<Void, Never>? in
            if state.end == nil { state.end = .some(error) }
            defer { state.reader = nil }
            return state.reader
        }
        reader?.resume()
    }

    /// The next one; nil at the end, where that was no error.
    func next() async throws(NetworkError) -> Element? {
        while true {
            let (element, end) = state.withLock { state in (state.buffer.isEmpty ? nil : state.buffer.removeFirst(), state.end) }
            if let element { return element }
            if let end {
                guard let error = end else { return nil }
                // Once: whoever reads on finds the end.
                finishQuietly()
                throw error
            }
            await withCheckedContinuation { continuation in
                let isReady = state.withLock { state -> Bool in
                    if !state.buffer.isEmpty || state.end != nil { return true }
                    state.reader = continuation
                    return false
                }
                if isReady { continuation.resume() }
            }
        }
    }

    private func finishQuietly() { state.withLock { $0.end = .some(nil) } }
}

/// One iteration over what a run tells: the first step starts the run, and who leaves cancels it.
final class RunReading<Element: Sendable>: Sendable {
    private enum Step { case begin, read }

    private let channel: RunChannel<Element>
    private let hasBegun = Lock(false)
    private let canceller = Lock<TaskCanceller?>(nil)
    private let begin: @Sendable (RunChannel<Element>, TaskCanceller) -> Void

    init(limit: Int, _ begin: @escaping @Sendable (RunChannel<Element>, TaskCanceller) -> Void) {
        channel = RunChannel(limit: limit)
        self.begin = begin
    }

    deinit { canceller.withLock { $0 }?.cancel(.explicit) }

    func next() async throws(NetworkError) -> Element? {
        let isFirst = hasBegun.withLock { hasBegun in
            defer { hasBegun = true }
            return !hasBegun
        }
        if isFirst {
            let fresh = TaskCanceller.ofThisTask()
            canceller.withLock { $0 = fresh }
            begin(channel, fresh)
        }
        let known = canceller.withLock { $0 }
        let channel = channel
        let result: Result<Element?, NetworkError> = await withTaskCancellationHandler {
            do throws(NetworkError) { return .success(try await channel.next()) } catch { return .failure(error) }
        } onCancel: {
            known?.cancel()
        }
        return try result.get()
    }
}
