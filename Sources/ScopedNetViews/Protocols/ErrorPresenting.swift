import FoundationEssentials

/// A view that tells a person of an error: a dialog, a banner, or a line of text.
///
/// ``ErrorSlot`` holds it weakly and calls it on the main actor alone, never for a cancel.
@MainActor public protocol ErrorPresenting: AnyObject {
    /// Shows an error.
    ///
    /// - Parameter error: its text, and an advice.
    func present(_ error: ErrorText)
}

/// An error in words for a person.
public struct ErrorText: Sendable {
    /// The error in a sentence or two.
    public let text: String
    /// An advice; nil where there is none.
    public let recovery: String?
    /// The error itself.
    public let error: any Error

    /// Takes the words of an error: `errorDescription` and `recoverySuggestion` of a `LocalizedError`, else its description.
    ///
    /// - Parameter error: the error.
    public init(_ error: any Error) {
        let localized = error as? any LocalizedError
        text = localized?.errorDescription ?? "\(error)"
        recovery = localized?.recoverySuggestion
        self.error = error
    }
}
