import Foundation
import ScopedNet
import ScopedNetFoundation
import ScopedNetImages
import ScopedNetTestServer

/// Opens the pages one after the other, uses them, and closes them: by letting go of them, nothing else.
@MainActor
struct Tour {
    let session: Session
    /// One for the session: all pages share its memory and its transfers.
    private let images: ImageLoader
    let board: Board
    let server: DemoServer
    private var pace: DemoServer.Pace { server.pace }

    init(session: Session, board: Board, server: DemoServer) {
        self.session = session
        images = ImageLoader(session)
        self.board = board
        self.server = server
    }

    func run() async throws {
        try await feed()
        try await search()
        try await settings()
        try await download()
        try await status()
        try await story()
        try await ticket()
        try await album()
        try await memo()
        try await LibraryTour(self).run()
        await session.agent.waitUntilIdle()
    }

    // MARK: The pages

    private func feed() async throws {
        try await visit("Feed", "a redirect, JSON in gzip, then eight pictures, four at a time") {
            FeedPage(session: session, images: images)
        } use: { page in
            page.open()
            try await until("each post has a picture, or a text in its place") {
                page.banner != nil && page.posts.allSatisfy { page.thumbnails[$0.id] != nil || page.placeholders[$0.id] != nil }
            }
            show(page)
            try await Task.sleep(for: pace.rest / 4)
        }
    }

    private func search() async throws {
        try await visit("Search", "as you type; each keystroke replaces the last request") {
            SearchPage(session: session)
        } use: { page in
            let word = "lighthouse"
            for length in [2, 3, 5, 8, 10] {
                page.textChanged(to: String(word.prefix(length)))
                try await Task.sleep(for: pace.keystroke)
            }
            try await board.until("the search has an answer") { $0.inScope("Search").count { $0.isOver } == 5 }
            try await until("the places are shown") { !page.isSearching }
            board.check("Search: only the last answer was delivered", page.matches.count == 3)
        }
    }

    private func settings() async throws {
        try await visit("Settings", "asked for three times at once; the first one is enough") {
            SettingsPage(session: session)
        } use: { page in
            for _ in 1...3 { page.refresh() }
            board.note("two more starts were refused: the first is still under way")
            try await until("the settings are shown") { page.settings != nil }
            board.check("Settings: one request, two refused", page.refusals == 2 && board.traces.inScope("Settings").count == 1)
        }
    }

    private func download() async throws {
        let page = { DownloadPage(session: session, folder: server.folder) }
        try await visit("Download", "two files at once; one is paused and goes on where it stood", page) { page in
            page.open()
            try await board.until("a quarter of the map is there") {
                $0.inScope("Download").contains { $0.url.hasSuffix("map.bin") && $0.fraction > 0.25 }
            }
            page.pauseMap()
            let before = try await restingCount("map.bin")
            try await Task.sleep(for: pace.rest)
            board.check("Download: nothing arrives while paused", before == received("map.bin"))
            page.resumeMap()
            try await until("both files are there") { page.files.count == 2 }
            board.check("Download: both files are what the server has", server.isOriginal("survey") && server.isOriginal("map"))
        }
    }

    private func received(_ file: String) -> Int64 { board.traces.first { $0.url.hasSuffix(file) }?.bytesReceived ?? 0 }

    /// What was on its way when a download was paused may still arrive.
    private func restingCount(_ file: String) async throws -> Int64 {
        var count = received(file)
        while true {
            try await Task.sleep(for: .milliseconds(50))
            let next = received(file)
            if next == count { return count }
            count = next
        }
    }

    private func status() async throws {
        try await visit("Status", "503 is tried again as the server asks; 404 is for the user") {
            StatusPage(session: session)
        } use: { page in
            page.open()
            try await until("the status is shown") { page.status != nil && page.problem != nil }
            board.check("Status: tried twice", board.traces.inScope("Status").contains { $0.attempts == 2 })
        }
    }

    private func story() async throws {
        try await visit("Story", "async/await: a task in the bag, a scope around a race") {
            StoryPage(session: session)
        } use: { page in
            page.open()
            try await until("the story is shown") { page.story != nil }
            try await page.loadPicture()
            board.check("Story: the near mirror's picture", page.picture != nil)
            page.translate()
            try await board.until("the translation is asked for") { $0.inflight(path: "story/translation") }
            try await Task.sleep(for: pace.rest / 3)
        }
    }

    private func ticket() async throws {
        try await visit("Ticket", "a delegate instead of closures") {
            TicketPage(session: session)
        } use: { page in
            page.open()
            try await until("the delegate has heard of the end") { page.stages.last == "ended" }
            board.note("the delegate heard: " + page.stages.joined(separator: ", "))
            board.check("Ticket: five stages in order", page.stages == ["started", "head 200", "progress", "succeeded", "ended"])
        }
    }

    private func album() async throws {
        let page = { AlbumPage(session: session, images: images, folder: server.folder) }
        try await visit("Album", "is closed while it downloads, waits for a retry, and queues", page) { page in
            page.open()
            let enough = Int64(pace.largeFile / 6)
            // A download asks for a connection when its file is claimed, which a busy machine may take its time for. Pictures that are asked for
            // before that would get the connection of a film, and keep it.
            try await board.until("the index waits for its retry, and every film comes") { traces in
                let album = traces.inScope("Album")
                return album.contains { $0.isWaitingToRetry } && album.count { $0.url.contains("film") && $0.bytesReceived > 0 } == 4
            }
            try await until("the cover is shown") { page.cover != nil }
            show([shown("cover", "album/cover", page.cover, of: "Album")], of: "Album", columns: 36)
            page.scroll()
            try await board.until("everything is under way") { traces in
                let previews = board.traces(of: "Album").filter { $0.url.contains("preview") }
                return traces.inScope("Album").count { $0.url.contains("film") && $0.bytesReceived >= enough } == 4
                    && traces.inflight(path: "captions") && previews.count == 3 && previews.contains { $0.bytesReceived > 0 }
            }
            board.check("Album: no preview is there", page.previews.isEmpty)
        }
        let album = board.traces(of: "Album")
        board.check("Album: the cover came, and nine requests went with the page", album.count == 10 && album.count { $0.isCancelled } == 9)
    }

    private func memo() async throws {
        let recording = VoiceMemo(pieces: 20, interval: pace.memoPiece)
        try await visit("Memo", "an upload that is to arrive whatever happens to its page") {
            MemoPage(session: session)
        } use: { page in
            page.send(recording)
            try await board.until("a quarter of the memo is sent") {
                $0.inScope("Memo").contains { $0.bytesSent > recording.byteCount / 4 }
            }
        }
        try await board.until("the memo has arrived") { $0.inScope("Memo").allSatisfy { $0.ending != nil } }
        let arrived = server.requests.last { $0.path == "/memos" }?.bodyBytesReceived
        board.check("Memo: the server has all of it", arrived == Int(recording.byteCount))
    }

    // MARK: Opening and closing

    /// A page lives as long as `use`. When that returns, the last reference goes, and with it the page's bag and all its requests.
    func visit<Page: AnyObject>(
        _ scope: String, _ what: String, _ make: () -> Page, use: (Page) async throws -> Void
    ) async throws {
        board.opened(scope, what)
        do {
            let page = make()
            try await use(page)
            board.closed(scope)
        }
        try await board.until("\(scope) has settled") { _ in board.traces(of: scope).allSatisfy { $0.isComplete || $0.isDetached } }
        board.summed(scope)
    }

    func until(_ what: String, _ condition: () -> Bool) async throws {
        let deadline = ContinuousClock.now + .seconds(20)
        while !condition() {
            guard ContinuousClock.now < deadline else { throw DemoFailure("waited in vain until \(what)") }
            try await Task.sleep(for: .milliseconds(5))
        }
    }
}

extension [RunTrace] {
    func inScope(_ scope: String) -> [RunTrace] { filter { $0.scope == scope } }
    func inflight(path: String) -> Bool { contains { $0.url.hasSuffix(path) && !$0.isOver && !$0.isQueued } }
}
