/// The failure of a helper process to make a picture. New cases may be added; keep a default when you switch.
///
/// It costs the one picture: the next one gets a fresh helper. Damaged files and exceeded limits are ``ImageError``, as in process.
public enum ImageIsolationError: Error, Sendable, Hashable {
    /// There is no such program; the paths that were looked at, in order. Nothing is decoded in process instead.
    case helperMissing(looked: [String])
    /// The helper does not start, or cannot restrict itself here; one line with the reason.
    case helperUnusable(String)
    /// This process has no descriptor or no memory left for the picture; one line with the call that failed.
    case noResources(String)
    /// A signal has ended the helper: `SIGSEGV` for example, or `SIGKILL` where the machine had no memory left.
    case helperCrashed(signal: Int32)
    /// The helper has made a system call that it is not allowed, and the kernel has ended it (`SIGSYS`).
    case violation
    /// The picture took longer than ``IsolatedDecoder/Configuration/deadline``.
    case timedOut
    /// The helper has said something that makes no sense, or has ended without a word. One line with the details.
    case protocolError(String)
}

extension ImageIsolationError: CustomStringConvertible {
    /// One line.
    public var description: String {
        switch self {
        case .helperMissing(let looked): "no scopednet-decoder at \(looked.isEmpty ? "any path" : looked.joined(separator: ", "))"
        case .helperUnusable(let reason): "the decoder process cannot be used: \(reason)"
        case .noResources(let reason): "a picture cannot be handed to a decoder process: \(reason)"
        case .helperCrashed(let signal): "the decoder process was ended by signal \(signal)"
        case .violation: "the decoder process made a system call that it is not allowed"
        case .timedOut: "the decoder process took too long"
        case .protocolError(let details): "the decoder process broke its protocol: \(details)"
        }
    }
}
