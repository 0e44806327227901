public import FoundationEssentials

/// A view that shows pages, such as a web view.
///
/// ``PageSlot`` holds it weakly and calls it on the main actor alone. For each page that is loaded it calls ``pageDidStart()`` once, then
/// ``load(_:completion:)`` where there is one, and at the end either ``pageDidFinish()`` or ``pageDidFail(_:)``, once. A page that was cancelled or
/// replaced has no end; ``stopLoading()`` is called for it.
@MainActor public protocol PageDisplaying: AnyObject {
    /// Loads bytes.
    ///
    /// - Parameters:
    ///   - page: the bytes, their type and charset, and the URL that they came from.
    ///   - completion: to be called when the view has shown the page, or cannot. Only the first call counts; it may come from inside, and is ignored
    ///     after ``stopLoading()``. A view that never calls it leaves the page unfinished.
    func load(_ page: PageContent, completion: @escaping @MainActor (Result<Void, any Error>) -> Void)

    /// Stops a load: another page is wanted, or none. Default: nothing is done.
    func stopLoading()

    /// A page is on its way. Default: nothing is done.
    func pageDidStart()
    /// The page is shown. Default: nothing is done.
    func pageDidFinish()
    /// The page could not be had, or not be shown; the one before stays. Default: nothing is done.
    ///
    /// - Parameter error: a `NetworkError`, or that of the view.
    func pageDidFail(_ error: any Error)
}

extension PageDisplaying {
    /// Does nothing.
    public func stopLoading() {}
    /// Does nothing.
    public func pageDidStart() {}
    /// Does nothing.
    public func pageDidFinish() {}
    /// Does nothing.
    public func pageDidFail(_ error: any Error) {}
}

/// A page as a view loads it.
public struct PageContent: Sendable, Hashable {
    /// The bytes.
    public var data: Data
    /// The media type without parameters, such as `text/html`.
    public var type: String
    /// The charset of the bytes, such as `utf-8`; nil where they are no text, or say it themselves.
    public var charset: String?
    /// The URL of the last response, after redirects: links of the page are relative to it.
    public var baseURL: String

    /// Makes a page.
    ///
    /// - Parameters:
    ///   - data: the bytes.
    ///   - type: the media type without parameters.
    ///   - charset: the charset of the bytes. Default: not known.
    ///   - baseURL: the URL that links are relative to.
    public init(_ data: Data, type: String, charset: String? = nil, baseURL: String) {
        self.data = data
        self.type = type
        self.charset = charset
        self.baseURL = baseURL
    }
}
