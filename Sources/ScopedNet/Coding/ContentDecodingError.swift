/// Why a coded body could not be decoded.
package enum ContentDecodingError: Error, Sendable, Hashable {
    /// The bytes are not what `Content-Encoding` promised. The detail is the decoder library's own sentence.
    case corrupt(coding: String, detail: String)

    /// The body ended before the coded stream did.
    case truncated(coding: String)

    /// The body grew beyond a limit of ``DecodingLimits``.
    case bomb(Limit)

    /// More codings than any server applies, so many.
    case tooManyCodings(Int)

    /// The receiver of the decoded bytes wants no more. Thrown by receivers, never by a decoder.
    case stopped

    package enum Limit: Sendable, Hashable {
        /// More bytes came out than allowed.
        case outputBytes(Int)
        /// More bytes came out for each byte in than allowed.
        case ratio(Int)
    }
}

extension ContentDecodingError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .corrupt(let coding, let detail): "the \(coding) body is corrupt: \(detail)"
        case .truncated(let coding): "the \(coding) body ended too early"
        case .bomb(.outputBytes(let limit)): "the decoded body is larger than \(limit) bytes"
        case .bomb(.ratio(let limit)): "the decoded body is more than \(limit) times the size of the coded one"
        case .tooManyCodings(let count):
            "the body has \(count) content codings, and no more than \(ContentDecoder.maxChainLength) are undone"
        case .stopped: "decoding was stopped by the receiver"
        }
    }
}
