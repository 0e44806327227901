public import FoundationEssentials
public import ScopedNet

/// A page for a view: the request, a change of the answer, and closures. A value; ``PageSlot`` puts it to work.
///
/// Closures run on the main actor, are handed the target, which nothing here keeps alive, and are destroyed at the end of the load or at its cancel,
/// called or not. A cancel calls none of them.
public struct PageBinding<Target: AnyObject>: Sendable {
    /// The request, which is started once. Closures that were registered with it are called as usual.
    public var request: Request<Data>
    /// The change of the answer before it is shown. Default: none.
    public var transform: PageTransform
    /// Told of the bytes that have come. Default: nil.
    public var onProgress: (@MainActor (Target, TransferProgress) -> Void)?
    /// Told once when the view shows the page, after its ``PageDisplaying/pageDidFinish()``. Default: nil.
    public var onFinish: (@MainActor (Target) -> Void)?
    /// Told once when there is no page, after ``PageDisplaying/pageDidFail(_:)``: with a `NetworkError`, the error of the transform, or that of the view.
    /// Default: nil.
    public var onFailure: (@MainActor (Target, any Error) -> Void)?

    /// Makes a binding.
    ///
    /// - Parameters:
    ///   - request: the request for the bytes of the page, such as `session.get("help")`.
    ///   - transform: the change of the answer before it is shown. Default: none.
    ///   - onFinish: told when it is shown. Default: nothing is done.
    ///   - onFailure: told when there is no page. Default: nothing is done.
    public init(
        _ request: Request<Data>, transform: PageTransform = .none, onFinish: (@MainActor (Target) -> Void)? = nil,
        onFailure: (@MainActor (Target, any Error) -> Void)? = nil
    ) {
        (self.request, self.transform, self.onFinish, self.onFailure) = (request, transform, onFinish, onFailure)
    }
}

/// The change of a page between the answer and the view. The result is loaded in place of the answer.
public enum PageTransform: Sendable {
    /// The bytes are loaded as they came.
    case none
    /// The bytes that the closure returns are loaded, with the type and charset of the answer.
    case data(@MainActor (Response<Data>) throws -> Data)
    /// The text that the closure returns is loaded, as UTF-8. It is handed the text of the answer, decoded by a byte order mark or the charset of the
    /// response, else as UTF-8.
    case text(@MainActor (Response<Data>, String) throws -> String)

    /// The page of an answer. Without a type it is taken for HTML.
    @MainActor func page(of response: Response<Data>) throws -> PageContent {
        let type = response.head.contentType
        let essence = type?.essence ?? "text/html"
        switch self {
        case .none: return PageContent(response.value, type: essence, charset: type?["charset"], baseURL: response.url)
        case .data(let change):
            return PageContent(try change(response), type: essence, charset: type?["charset"], baseURL: response.url)
        case .text(let change):
            let text = try change(response, response.text)
            return PageContent(Data(text.utf8), type: essence, charset: "utf-8", baseURL: response.url)
        }
    }
}
