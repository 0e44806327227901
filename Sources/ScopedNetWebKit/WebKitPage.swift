#if WebKit
import CViewsWebKit
public import FoundationEssentials
public import ScopedNet
import ScopedNetGTK
public import ScopedNetViews

/// A `WebKitWebView` that shows pages which requests have fetched.
///
/// The bytes come from the session of the program, with its credentials, cache and limits; what a page refers to is WebKit's own to fetch, relative
/// to the last URL of the page. Make one for each view, which owns it; it may outlive the view, and then does nothing.
@MainActor public final class WebKitPage: PageDisplaying {
    private let object: WeakObject
    private var load = WebKitLoad()
    private var completion: (@MainActor (Result<Void, any Error>) -> Void)?

    /// The bag of the view, for what is to end with it.
    public let bag: DeallocBag
    /// The address of the view, borrowed: good until the program returns to the main loop. Nil after the end of the view.
    public var widget: UnsafeMutableRawPointer? { object.address }
    /// True from the start of a load to its end.
    public var isLoading: Bool { completion != nil }

    /// Adapts a view.
    ///
    /// - Parameters:
    ///   - widget: a `WebKitWebView`; nil, the default, for a new one, whose reference is floating until it has a parent.
    ///   - fileID: the file of the call, which names the bag of the view, with `line`.
    ///   - line: the line of the call.
    public init(_ widget: UnsafeMutableRawPointer? = nil, fileID: StaticString = #fileID, line: Int = #line) {
        guard let view = widget ?? UnsafeMutableRawPointer(webkit_web_view_new()) else { preconditionFailure("WebKit makes views") }
        precondition(scopednet_is_web_view(view) != 0, "WebKitPage takes a WebKitWebView")
        object = WeakObject(view)
        bag = .of(gObject: view, fileID: fileID, line: line)
        view.own(self)
        connect(view, "load-changed") { [weak self] event in self?.changed(event) }
        connect(view, "web-process-terminated") { [weak self] _ in
            self?.end(.failure(WebKitPageError(message: "The web process has ended.", code: -1)))
        }
        connectFailures(of: view)
    }

    /// Shows bytes as a page.
    ///
    /// - Parameters:
    ///   - page: the bytes, their type and charset, and the URL that links are relative to.
    ///   - completion: called once with the end of the load, or with ``WebKitPageError``; not after ``stopLoading()``, nor where another load takes
    ///     its place.
    public func load(_ page: PageContent, completion: @escaping @MainActor (Result<Void, any Error>) -> Void) {
        object.with { view in
            self.completion = completion
            load.request()
            let bytes = page.data.withUnsafeBytes { g_bytes_new($0.baseAddress, gsize($0.count)) }
            defer { g_bytes_unref(bytes) }
            webkit_web_view_load_bytes(view.assumingMemoryBound(to: WebKitWebView.self), bytes, page.type, page.charset, page.baseURL)
        }
    }

    /// Stops a load. Its completion is not called.
    public func stopLoading() {
        completion = nil
        load.stop()
        object.with { webkit_web_view_stop_loading($0.assumingMemoryBound(to: WebKitWebView.self)) }
    }

    private func changed(_ event: Int32) {
        if UInt32(event) == WEBKIT_LOAD_STARTED.rawValue { load.started() }
        if UInt32(event) == WEBKIT_LOAD_FINISHED.rawValue, load.takeEnd() { end(.success(())) }
    }

    /// - Returns: true where the load is one that the program has asked for.
    fileprivate func failed(_ error: WebKitPageError) -> Bool {
        // Another load takes the place of the one before, which is told of when this one is on its way: its start was not that of this one.
        if error.code == Int(WEBKIT_NETWORK_ERROR_CANCELLED.rawValue) { return load.wasReplaced() }
        guard load.takeEnd() else { return false }
        end(.failure(error))
        return true
    }

    private func end(_ result: Result<Void, any Error>) {
        let completion = completion.take()
        load.stop()
        completion?(result)
    }

    /// `load-failed` has an answer and an error, as no other signal of a view here.
    private func connectFailures(of view: UnsafeMutableRawPointer) {
        let context = Unmanaged.passRetained(FailureHandler(self)).toOpaque()
        _ = scopednet_connect_load_failed(
            view,
            { _, _, _, error, context in
                guard let context, let error else { return 0 }
                // Safety: GObject calls this before the release below alone.
                let handler = Unmanaged<FailureHandler>.fromOpaque(context).takeUnretainedValue()
                let failure = WebKitPageError(message: String(cString: error.pointee.message), code: Int(error.pointee.code))
                // WebKit shows no page of its own for a load of the program, and does for links that a person follows.
                return MainActor.assumeIsolated { handler.page?.failed(failure) == true } ? 1 : 0
            }, context, { context, _ in if let context { Unmanaged<FailureHandler>.fromOpaque(context).release() } })
    }
}

@MainActor private final class FailureHandler {
    weak var page: WebKitPage?

    init(_ page: WebKitPage) { self.page = page }
}

/// The state of the load that the program has asked for, beside those that a person starts with links (pure).
///
/// The end of the load before is told of after the next was asked for, and before that starts.
struct WebKitLoad: Equatable {
    private enum State { case idle, requested, started }

    private var state = State.idle

    mutating func request() { state = .requested }

    mutating func started() { if state == .requested { state = .started } }

    mutating func stop() { state = .idle }

    /// Takes the end of a load by another one. The answer is true where this load is still to come.
    mutating func wasReplaced() -> Bool {
        guard state != .idle else { return false }
        state = .requested
        return true
    }

    /// Takes an end that the view tells of, by success or failure. The answer is true where it is that of this load.
    mutating func takeEnd() -> Bool {
        guard state == .started else { return false }
        state = .idle
        return true
    }
}

/// The reason why WebKit could not show a page.
public struct WebKitPageError: LocalizedError, Hashable, Sendable {
    /// A sentence, in the language of WebKit.
    public let message: String
    /// The code of WebKit's `GError`; -1 where its process has ended.
    public let code: Int

    /// The message.
    public var errorDescription: String? { message }
}
#endif
