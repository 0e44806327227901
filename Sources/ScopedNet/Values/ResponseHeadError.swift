/// The reason why a response head was refused.
package enum ResponseHeadError: Error, Sendable, Hashable {
    /// Not `HTTP/version status reason`. Carries at most its first 64 bytes.
    case malformedStatusLine(String)
    /// The head grew beyond `ResponseHeadParser.Limits.headBytes`.
    case headTooLarge(limit: Int)
    /// The head has more lines than `ResponseHeadParser.Limits.fields`.
    case tooManyFields(limit: Int)
    /// More interim heads came than `ResponseHeadParser.Limits.interimHeads`.
    case tooManyInterimHeads(limit: Int)
    /// `Content-Length` is no number of bytes.
    case malformedContentLength
    /// Several `Content-Length` that disagree: a sign of response splitting.
    case conflictingContentLength
    /// Two readers could see the end of this response in two places: the gap that response smuggling goes through. Says why.
    case ambiguousFraming(String)
}

extension ResponseHeadError {
    /// The code of a transfer that ends with it.
    var code: NetworkError.Code {
        switch self {
        case .headTooLarge, .tooManyFields, .tooManyInterimHeads: .headersTooLarge
        case .malformedStatusLine, .malformedContentLength, .conflictingContentLength, .ambiguousFraming: .badResponse
        }
    }
}

extension ResponseHeadError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .malformedStatusLine(let line): "not a status line: \(line)"
        case .headTooLarge(let limit): "the response head is larger than \(limit) bytes"
        case .tooManyFields(let limit): "the response head has more than \(limit) fields"
        case .tooManyInterimHeads(let limit): "more than \(limit) interim responses came before the final one"
        case .malformedContentLength: "Content-Length is not a number of bytes"
        case .conflictingContentLength: "several Content-Length fields disagree"
        case .ambiguousFraming(let why): why
        }
    }
}
