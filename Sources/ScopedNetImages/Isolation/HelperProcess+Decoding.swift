#if Images
import FoundationEssentials
import Glibc
import SystemSupport

extension HelperProcess {
    /// The result of one request.
    enum Outcome {
        case answer(HelperMessage.Answer)
        /// It had ended before the request could be sent, or had something to say when it had not been asked: another one may be asked.
        case isUnusable
    }

    /// Sends a request, and waits for its answer on this thread. After an error the helper has ended.
    ///
    /// - Throws: ``ImageIsolationError``, or `CancellationError`.
    func decode(
        _ request: HelperMessage.Request, file: borrowing SharedMemory, pixels: borrowing SharedMemory, within deadline: Duration,
        _ cancellation: DecodingCancellation?
    ) throws -> Outcome {
        do {
            return try exchange(request, file.descriptor, pixels.descriptor, deadline, cancellation)
        } catch {
            end()
            throw error
        }
    }

    private func exchange(
        _ request: HelperMessage.Request, _ file: Int32, _ pixels: Int32, _ deadline: Duration, _ cancellation: DecodingCancellation?
    ) throws -> Outcome {
        guard socket.isQuiet else { return .isUnusable }
        allowProcessorTime(seconds: Int(clamping: deadline.components.seconds))
        guard socket.send(request.words, file: file, pixels: pixels) else { return .isUnusable }
        let end = Monotonic.now() + deadline
        if request.keptPixels == 0 { makePages(request.output.width * request.output.height * 4, of: pixels, cancellation) }
        while true {
            if cancellation?.isCancelled == true { throw CancellationError() }
            let left = end - Monotonic.now()
            guard left > .zero else { throw ImageIsolationError.timedOut }
            if socket.waitForMessage(milliseconds: Self.slice(left, isCancellable: cancellation != nil)) { break }
        }
        guard let answer = try socket.receive() else { throw failure() }
        return .answer(answer)
    }

    /// Makes the pages of a large picture ahead of the helper, which would wait for each of them, and stops when the answer is there.
    private func makePages(_ byteCount: Int, of pixels: Int32, _ cancellation: DecodingCancellation?) {
        let step = 1 << 20
        for offset in stride(from: 0, to: byteCount, by: step) {
            guard cancellation?.isCancelled != true, !socket.waitForMessage(milliseconds: 0) else { return }
            guard posix_fallocate(pixels, offset, min(step, byteCount - offset)) == 0 else { return }
        }
    }

    /// The length of one wait: all of the time that is left, or as long as a cancellation may go unnoticed.
    private static func slice(_ left: Duration, isCancellable: Bool) -> Int32 {
        let most = Duration.milliseconds(isCancellable ? 10 : 60_000)
        let (seconds, attoseconds) = min(left, most).components
        return Int32(clamping: seconds * 1_000 + attoseconds / 1_000_000_000_000_000 + 1)
    }

    /// The error of a fresh helper that cannot be asked.
    func refusal() -> ImageIsolationError {
        // One that waits for this process to read its words would be ended by us, and seem to have crashed.
        guard socket.hasMessage else { return failure() }
        end()
        return .protocolError("it speaks before it is asked")
    }

    /// The error of a helper that has hung up.
    func failure() -> ImageIsolationError {
        switch end() {
        case .signal(SIGSYS): .violation
        case .signal(SIGXCPU): .timedOut
        case .signal(let signal): .helperCrashed(signal: signal)
        // Those of protocol.h.
        case .status(64): .helperUnusable("it is no scopednet-decoder of this version")
        case .status(69): .helperUnusable("it was built without its codecs (the trait Images)")
        case .status(70): .helperUnusable("it cannot set its limits, or they are too low for it to start")
        case .status(71): .helperUnusable("the kernel has no filter of system calls (seccomp) for it")
        case .status(127): .helperUnusable("a shared library that it needs is missing, or its address space is too small")
        case .status(let status): .protocolError("it ended with status \(status)")
        case .unknown: .protocolError("it ended, and another part of the program has its status")
        }
    }
}
#endif
