import ScopedNet
import ScopedNetTesting
import Testing

// The samples of Mocking.md, word for word (see `DocumentationTests`), and the page they speak of.

@MainActor
private final class StoriesPage: RequestOwner {
    private struct Story: Decodable, Sendable { let title: String }

    nonisolated let deallocBag = DeallocBag()
    private let session: Session
    private(set) var titles: [String] = []
    private(set) var message = ""

    init(_ session: Session) { self.session = session }

    func load() {
        deallocBag.task(for: self) { [session] in
            let numbers = try await session.get("topstories", as: [Int].self).value()
            return try await session.values(of: numbers.map { session.get("item/\($0)", as: Story.self) })
        } onSuccess: { page, stories in
            page.titles = stories.map(\.title)
        } onFailure: { page, error in
            page.message = "\(error)"
        }
    }
}

// swift-format-ignore
@MainActor @Test(.noLeaks) func thePageShowsTheStories() async {
    let session = MockTransport.session("http://hn.test/v0/")
    session.mock.on(.get, "topstories", .json([7]))
    session.mock.on(.get, "item/7", [.status(503).retryAfter(5), .json(["title": "Sea"])])
    let page = StoriesPage(session)
    page.load()
    await page.deallocBag.waitUntilIdle()
    #expect(page.titles == [] && page.message.contains("503"))
    page.load()
    await page.deallocBag.waitUntilIdle()
    #expect(page.titles == ["Sea"])
}

func troubles(_ session: Session, _ clock: ManualClock) async throws {
    session.mock.on(.get, "slow", .ok("late").after(.seconds(1)))
    session.mock.on(.get, "down", .failing(.connectionRefused))
    session.mock.on(.get, "cut", .ok("half of it").thenFailing(.connectionLost))
    session.mock.on(.post, "submit") { .json("{}", status: $0.body?.isEmpty == false ? 201 : 422) }
    let slow = session.get("slow").start()
    await clock.waitForTimers(1)
    clock.advance(by: .seconds(1))
    await session.agent.waitUntilIdle()
    #expect(slow.status.stage == .ended)
}

@Test(.noLeaks) func theTroublesAreThere() async throws {
    let clock = ManualClock()
    let session = MockTransport.session { $0.use(clock) }
    try await troubles(session, clock)
    for (path, code) in [("down", NetworkError.Code.connectionRefused), ("cut", .connectionLost)] {
        let error = await #expect(throws: NetworkError.self) { try await session.send(path) }
        #expect(error?.code == code)
    }
    #expect(try await session.send("submit", method: .post, body: .json(["title": "Sea"])).status == 201)
}
