import CViewsWebKit
import FoundationEssentials
import HTTPTypes
import ScopedNet
import ScopedNetGTK
import ScopedNetTesting
import ScopedNetViews
import ScopedNetWebKit

@MainActor
enum Scenarios {
    static var failures = 0
    static let all: [String: @MainActor () async -> Void] = [
        "load": load, "replace": replace, "stop": stop, "end": end, "slot": slot, "crash": crash,
    ]

    private static func expect(_ condition: Bool, _ text: @autoclosure () -> String, line: Int = #line) {
        guard !condition else { return }
        failures += 1
        print("\(text()) (line \(line))")
    }

    private static func content(_ title: String) -> PageContent {
        let text = "<title>\(title) \u{e9}</title>"
        return PageContent(Data(text.utf8), type: "text/html", charset: "utf-8", baseURL: "http://example.test/folder/page")
    }

    /// A window with a web view in it.
    private static func show() -> (window: UnsafeMutablePointer<GtkWindow>, page: WebKitPage) {
        let page = WebKitPage()
        let window = UnsafeMutableRawPointer(gtk_window_new()!).assumingMemoryBound(to: GtkWindow.self)
        gtk_window_set_child(window, page.widget?.assumingMemoryBound(to: GtkWidget.self))
        gtk_window_present(window)
        return (window, page)
    }

    /// The title of a page, which the view tells of by itself, before or after the end of the load.
    private static func waitForTitle(_ title: String, of view: UnsafeMutablePointer<WebKitWebView>?) async {
        guard let view else { return expect(false, "no view") }
        var waiting: CheckedContinuation<Void, Never>?
        func isRight() -> Bool { webkit_web_view_get_title(view).map { String(cString: $0) } == title }
        connect(UnsafeMutableRawPointer(view), "notify::title") { (_: Int32) in
            if isRight() { waiting.take()?.resume() }
        }
        await withCheckedContinuation { continuation in
            if isRight() { continuation.resume() } else { waiting = continuation }
        }
    }

    /// The bytes are shown, with the final URL as the base; the completion is called once.
    static func load() async {
        let (window, page) = show()
        var ends = 0
        let result = await withCheckedContinuation { continuation in
            page.load(content("one")) { result in
                ends += 1
                continuation.resume(returning: result)
            }
            expect(page.isLoading, "it loads")
        }
        let view = page.widget?.assumingMemoryBound(to: WebKitWebView.self)
        expect((try? result.get()) != nil, "\(result)")
        await waitForTitle("one \u{e9}", of: view)
        expect(webkit_web_view_get_uri(view).map { String(cString: $0) } == "http://example.test/folder/page", "the base is another")
        try? await Task.sleep(for: .milliseconds(100))
        expect(ends == 1 && !page.isLoading, "one end: \(ends)")
        gtk_window_destroy(window)
    }

    /// The next load takes the place of the one before, whose end is nobody's.
    static func replace() async {
        let (window, page) = show()
        var first = 0
        page.load(content("one")) { _ in first += 1 }
        let result = await withCheckedContinuation { continuation in
            page.load(content("two")) { continuation.resume(returning: $0) }
        }
        expect((try? result.get()) != nil, "\(result)")
        await waitForTitle("two \u{e9}", of: page.widget?.assumingMemoryBound(to: WebKitWebView.self))
        expect(first == 0, "the first is told of \(first) ends")
        gtk_window_destroy(window)
    }

    /// A load that was stopped has no end, and the next one has.
    static func stop() async {
        let (window, page) = show()
        var stopped = 0
        page.load(content("one")) { _ in stopped += 1 }
        page.stopLoading()
        expect(!page.isLoading, "it loads")
        let result = await withCheckedContinuation { continuation in
            page.load(content("two")) { continuation.resume(returning: $0) }
        }
        expect((try? result.get()) != nil && stopped == 0, "\(result), \(stopped)")
        gtk_window_destroy(window)
    }

    /// The end of the view ends its scope, and the adapter after it does nothing.
    static func end() async {
        let (window, page) = show()
        page.load(content("one")) { _ in expect(false, "an end after the view's own") }
        let bag = page.bag
        gtk_window_destroy(window)
        expect(bag.isEnded, "the scope goes on")
        page.stopLoading()
        expect(page.widget == nil, "the view is left")
        page.load(content("two")) { _ in expect(false, "an end of nothing") }
        expect(!page.isLoading, "nothing loads")
        // Time for what must not come.
        try? await Task.sleep(for: .milliseconds(100))
    }

    /// The end of the web process is the failure of the load; the next load has a process of its own.
    static func crash() async {
        let (window, page) = show()
        var results: [Result<Void, any Error>] = []
        await withCheckedContinuation { continuation in page.load(content("one")) { _ in continuation.resume() } }
        await withCheckedContinuation { continuation in
            page.load(content("two")) { result in
                results.append(result)
                continuation.resume()
            }
            webkit_web_view_terminate_web_process(page.widget?.assumingMemoryBound(to: WebKitWebView.self))
        }
        let after = await withCheckedContinuation { continuation in
            page.load(content("three")) { continuation.resume(returning: $0) }
        }
        guard results.count == 1, case .failure(let error) = results[0] else { return expect(false, "\(results)") }
        expect(error is WebKitPageError && "\(error)".contains("web process"), "\(error)")
        expect((try? after.get()) != nil, "\(after)")
        gtk_window_destroy(window)
    }

    /// A page of a request: its redirect is the base, and its end comes from the view.
    static func slot() async {
        let session = MockTransport.session("http://web.test/")
        session.mock.on("old", .redirect(to: "/new/page"))
        session.mock.on("http://web.test/new/page", MockReply.ok("<title>\u{e9}</title>").header(.contentType, "text/html; charset=utf-8"))
        let (window, page) = show()
        let slot = PageSlot(for: page, in: page.bag)
        await withCheckedContinuation { continuation in
            slot.bind(
                PageBinding(
                    session.get("old"), onFinish: { _ in continuation.resume() },
                    onFailure: { _, error in
                        expect(false, "\(error)")
                        continuation.resume()
                    }))
        }
        let view = page.widget?.assumingMemoryBound(to: WebKitWebView.self)
        await waitForTitle("\u{e9}", of: view)
        expect(webkit_web_view_get_uri(view).map { String(cString: $0) } == "http://web.test/new/page", "the base is another")
        gtk_window_destroy(window)
        await session.shutdown()
    }
}
