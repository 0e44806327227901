#if Images
import Dispatch
import FoundationEssentials
import SystemSupport

/// The helpers of a decoder: each decodes one picture at a time, and waits for the next one then.
final class HelperPool: Sendable {
    /// A helper between two pictures.
    private struct Warm {
        let process: HelperProcess
        var pictures = 0
        var scratch: HelperScratch?
        var input: HelperInput?
    }

    private let configuration: IsolatedDecoder.Configuration
    private let permits: DispatchSemaphore
    private let most: Int
    // The newest last, whose memory is the warmest.
    private let idle = Lock<[Warm]>([])

    init(_ configuration: IsolatedDecoder.Configuration) {
        self.configuration = configuration
        most = max(1, configuration.helpers)
        permits = DispatchSemaphore(value: most)
    }

    /// The process identifiers of helpers that wait; for tests.
    var idleProcesses: [Int32] { idle.withLock { $0.map(\.process.pid) } }

    /// Ends the helpers that wait.
    func endIdle() {
        let ended = idle.withLock { idle in
            defer { idle = [] }
            return idle
        }
        for warm in ended { warm.process.end() }
    }

    /// Has a helper decode a file. Blocks the thread, for a helper to be free as well.
    ///
    /// - Parameters:
    ///   - request: the request for it.
    ///   - file: its bytes.
    ///   - cancellation: ends the helper; nil for a decoding that goes on to its end.
    ///   - check: throws the error of an answer that has no pixels.
    /// - Returns: the pixels.
    /// - Throws: ``ImageIsolationError``, `CancellationError`, a failure of the system, and what `check` throws.
    func decode(
        _ request: HelperMessage.Request, file: Data, _ cancellation: DecodingCancellation?,
        check: (HelperMessage.Answer) throws -> Void
    ) throws -> PixelBuffer {
        try waitForPermit(cancellation)
        defer { permits.signal() }
        while true {
            let waiting = takeIdle()
            var warm = try waiting ?? Warm(process: start())
            let result = Result { try hand(&warm, request, file, cancellation, check) }
            if case .success(nil) = result {
                // One that was ended from outside while it waited costs no picture. After one that does not even start there is no other.
                if waiting == nil { throw warm.process.refusal() }
                warm.process.end()
                continue
            }
            warm.pictures += 1
            if !warm.process.hasEnded { keep(warm) }
            guard let buffer = try result.get() else { continue }
            return buffer
        }
    }

    /// Gives this helper the file, in the memory that is kept for it where the file is small enough, and has it decode it.
    private func hand(
        _ warm: inout Warm, _ request: HelperMessage.Request, _ file: Data, _ cancellation: DecodingCancellation?,
        _ check: (HelperMessage.Answer) throws -> Void
    ) throws -> PixelBuffer? {
        guard file.count <= HelperInput.byteCount else {
            return try run(&warm, request, try SharedMemory.copy(of: file), cancellation, check)
        }
        let input = try warm.input ?? HelperInput()
        warm.input = input
        try input.write(file)
        var request = request
        request.keptFile = HelperInput.byteCount
        return try run(&warm, request, input.memory, cancellation, check)
    }

    /// Has this helper decode the file.
    ///
    /// - Returns: the pixels; nil where the helper cannot be asked.
    private func run(
        _ warm: inout Warm, _ request: HelperMessage.Request, _ file: borrowing SharedMemory, _ cancellation: DecodingCancellation?,
        _ check: (HelperMessage.Answer) throws -> Void
    ) throws -> PixelBuffer? {
        let size = request.output.width * request.output.height * 4
        guard size > HelperScratch.byteCount else {
            let scratch = try warm.scratch ?? HelperScratch()
            warm.scratch = scratch
            var request = request
            request.keptPixels = HelperScratch.byteCount
            guard let answer = try ask(warm.process, request, file, scratch.memory, cancellation) else { return nil }
            try check(answer)
            return try scratch.copy(size)
        }
        let pixels = try SharedMemory.empty(byteCount: size)
        guard let answer = try ask(warm.process, request, file, pixels, cancellation) else { return nil }
        // From here on no process can write to the pixels, however hostile the helper.
        do throws(SystemFailure) { try pixels.sealContents() } catch {
            warm.process.end()
            throw ImageIsolationError.protocolError("it keeps the pixels (\(error))")
        }
        try check(answer)
        return try PixelBuffer.holding(pixels)
    }

    /// Sends the request, and compares the answer with it. After an ``ImageIsolationError`` the helper has ended.
    private func ask(
        _ process: HelperProcess, _ request: HelperMessage.Request, _ file: borrowing SharedMemory, _ pixels: borrowing SharedMemory,
        _ cancellation: DecodingCancellation?
    ) throws -> HelperMessage.Answer? {
        let outcome = try process.decode(request, file: file, pixels: pixels, within: configuration.deadline, cancellation)
        guard case .answer(let answer) = outcome else { return nil }
        let isOther = answer.output != request.output || answer.scale != request.scale
        guard isOther || answer.status == .refused || answer.status == .cancelled else { return answer }
        process.end()
        throw ImageIsolationError.protocolError(isOther ? "an answer of another size" : "it refuses: \(answer.text)")
    }

    private func waitForPermit(_ cancellation: DecodingCancellation?) throws {
        guard let cancellation else { return permits.wait() }
        while permits.wait(timeout: .now() + .milliseconds(10)) == .timedOut {
            if cancellation.isCancelled { throw CancellationError() }
        }
    }

    private func start() throws(ImageIsolationError) -> HelperProcess {
        let path = try HelperLocation.current(explicit: configuration.helperPath).find()
        return try HelperProcess(path: path, addressSpace: configuration.addressSpace)
    }

    private func takeIdle() -> Warm? { idle.withLock { $0.popLast() } }

    /// Puts a helper back, or ends it where it has decoded enough, or enough of them wait.
    private func keep(_ warm: Warm) {
        let isKept = idle.withLock { idle in
            guard warm.pictures < configuration.picturesPerHelper, idle.count < min(most, max(0, configuration.warmHelpers)) else {
                return false
            }
            idle.append(warm)
            return true
        }
        if !isKept { warm.process.end() }
    }
}
#endif
