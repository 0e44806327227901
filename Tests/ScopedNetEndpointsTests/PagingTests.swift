import CleanSlate
import ScopedNet
import ScopedNetTesting
import Testing

@testable import ScopedNetEndpoints

/// Lists that come in pages (CT-7).
@Suite(.leavesNothing, .noLeaks, .timeLimit(.minutes(3))) struct PagingTests {
    private struct Server: APIService {
        var baseURL: String { "http://api.test/v1/" }
    }

    private struct Numbered: PagedEndpoint, Encodable {
        typealias Element = Int
        var page = 1
        var path: String { "numbers" }
        var nextPage: NextPage<Self> { .number(\.page) }
    }

    private struct Offset: PagedEndpoint, Encodable {
        typealias Element = Int
        var offset = 0
        var path: String { "offsets" }
        var nextPage: NextPage<Self> { .offset(\.offset, size: 2) }
    }

    private struct CursorPage: Codable, Sendable {
        var items: [String]
        var next: String?
    }

    private struct Cursors: PagedEndpoint, Encodable {
        typealias Value = CursorPage
        var cursor: String?
        var path: String { "cursors" }
        var nextPage: NextPage<Self> { .cursor(\.cursor) { $0.next } }
        func elements(of page: CursorPage) -> [String] { page.items }
    }

    private struct Linked: PagedEndpoint, Encodable {
        typealias Element = Int
        var size = 2
        var path: String { "linked" }
        var nextPage: NextPage<Self> { .link }
    }

    private func client(_ unanswered: MockTransport.Unanswered = .fail) -> APIClient<Server> {
        let session = MockTransport.session("http://api.test/v1/", unanswered: unanswered)
        session.mock.on("numbers?page=1", .json("[1,2]"))
        session.mock.on("numbers?page=2", .json("[3]"))
        session.mock.on("numbers?page=3", .json("[]"))
        session.mock.on("offsets?offset=0", .json("[1,2]"))
        session.mock.on("offsets?offset=2", .json("[3]"))
        session.mock.on("cursors", .json(CursorPage(items: ["a"], next: "x")))
        session.mock.on("cursors?cursor=x", .json(CursorPage(items: ["b", "c"], next: "y")))
        // The last page names itself.
        session.mock.on("cursors?cursor=y", .json(CursorPage(items: [], next: "y")))
        let link = HTTPField.Name("Link")!
        session.mock.on("linked?size=2", .json("[1]").header(link, "</v1/linked?after=1&size=2>; rel=\"next\""))
        session.mock.on("linked?after=1&size=2", .json("[2]").header(link, "<?after=2>; rel=next"))
        session.mock.on("linked?after=2", .json("[3]").header(link, "<http://api.test/v1/linked?after=2>; rel=next"))
        return APIClient(Server(), session: session)
    }

    @Test(arguments: [false, true]) func eachStyleComesToItsEnd(prefetching: Bool) async throws {
        let client = client()
        var numbers: [Int] = []
        for try await number in client.pages(of: Numbered(), prefetching: prefetching).elements { numbers.append(number) }
        #expect(numbers == [1, 2, 3])
        numbers = []
        for try await number in client.pages(of: Offset(), prefetching: prefetching).elements { numbers.append(number) }
        #expect(numbers == [1, 2, 3])
        var texts: [String] = []
        for try await text in client.pages(of: Cursors(), prefetching: prefetching).elements { texts.append(text) }
        #expect(texts == ["a", "b", "c"])
        numbers = []
        for try await number in client.pages(of: Linked(), prefetching: prefetching).elements { numbers.append(number) }
        #expect(numbers == [1, 2, 3])
        #expect(client.session.mock.exchanges.count == 11)
        await client.session.shutdown()
    }

    @Test func pagesKnowTheirPlace() async throws {
        let client = client()
        let pages = client.pages(of: Offset())
        // Each iteration begins with the first page.
        for _ in 0..<2 {
            var places: [String] = []
            for try await page in pages { places.append("\(page.index) \(page.elements.count) \(page.isFirst) \(page.isLast)") }
            #expect(places == ["0 2 true false", "1 1 false true"])
        }
        await client.session.shutdown()
    }

    @Test func afterAnErrorTheSamePageIsAskedAgain() async throws {
        let client = client()
        client.session.mock.on("numbers?page=2", [.status(500), .json("[3]")])
        let pager = client.pager(of: Numbered())
        #expect(try await pager.next()?.elements == [1, 2])
        await #expect(throws: NetworkError.self) { try await pager.next() }
        #expect(try await pager.next()?.elements == [3])
        #expect(try await pager.next()?.isLast == true)
        for _ in 0..<2 {
            let none = try await pager.next()
            #expect(none == nil)
        }
        pager.restart()
        #expect(try await pager.next()?.index == 0)
        // A sequence ends with its error.
        client.session.mock.on("numbers?page=2", .status(404))
        var iterator = client.pages(of: Numbered()).makeAsyncIterator()
        #expect(try await iterator.next()?.elements == [1, 2])
        await #expect(throws: NetworkError.self) { try await iterator.next() }
        let none = try await iterator.next()
        #expect(none == nil)
        await client.session.shutdown()
    }

    @Test func thoseWhoAskAtOnceGetTheSamePage() async throws {
        let client = client(.wait)
        let pager = client.pager(of: Numbered(page: 7))
        async let first = pager.next()
        async let second = pager.next()
        let exchange = await client.session.mock.exchange(0)
        // One of them may come to ask when the page is there: that one is told of the next.
        for _ in 0..<200 { await Task.yield() }
        exchange.respond(.json("[70]"))
        let waiter = Task { await client.session.mock.exchange(1).respond(.json("[]")) }
        let pages = try await [first?.elements, second?.elements]
        #expect(pages == [[70], [70]] || pages == [[70], []] || pages == [[], [70]])
        waiter.cancel()
        await client.session.shutdown()
    }

    @Test func theNextPageIsFetchedAhead() async throws {
        let client = client(.wait)
        let bag = DeallocBag()
        var pager: Pager<Server, Numbered>? = client.pager(of: Numbered(page: 7), prefetching: true, in: bag)
        let answer = Task { await client.session.mock.exchange(0).respond(.json("[70]")) }
        #expect(try await pager?.next()?.elements == [70])
        await answer.value
        let ahead = await client.session.mock.exchange(1)
        #expect(ahead.url.hasSuffix("page=8"))
        // It goes with the pager.
        pager = nil
        while !ahead.isCancelled { await Task.yield() }
        await client.session.agent.waitUntilIdle()
        await client.session.shutdown()
    }

    @Test(arguments: ["bag", "task"]) func aWaitEndsWithItsBagAndItsTask(way: String) async throws {
        let (client, bag) = (client(.wait), DeallocBag())
        let pager = client.pager(of: Numbered(page: 7), in: bag)
        let task = Task { () -> NetworkError.Code? in
            do {
                _ = try await pager.next()
                return nil
            } catch { return (error as? NetworkError)?.code }
        }
        let exchange = await client.session.mock.exchange(0)
        if way == "bag" { bag.end() } else { task.cancel() }
        #expect(await task.value == .cancelled)
        while !exchange.isCancelled { await Task.yield() }
        await client.session.agent.waitUntilIdle()
        await client.session.shutdown()
    }

    @Test func aSequenceKeepsNoBagAlive() async throws {
        let client = client(.wait)
        var bag: DeallocBag? = DeallocBag()
        weak let gone = bag
        let pages = client.pages(of: Numbered(page: 7), in: bag)
        bag = nil
        #expect(gone == nil)
        await #expect(throws: NetworkError.self) { for try await _ in pages {} }
        #expect(client.session.mock.exchanges.isEmpty)
        await client.session.shutdown()
    }

    /// A way that leads round in a circle ends, and one to another server is not gone: it would get the service's credentials.
    @Test func aHostileServerLeadsNowhere() async throws {
        let session = MockTransport.session("http://api.test/v1/")
        let link = HTTPField.Name("Link")!
        session.mock.on("linked?size=2", .json([Int]()).header(link, "<?after=a>; rel=next"))
        session.mock.on("linked?after=a", .json([Int]()).header(link, "<?after=b>; rel=next"))
        session.mock.on("linked?after=b", .json([Int]()).header(link, "<?after=a>; rel=next"))
        session.mock.on("linked?size=7", .json([1]).header(link, "<https://evil.test/>; rel=next"))
        session.mock.on("numbers?page=\(Int.max)", .json([1]))
        let client = APIClient(Server(), session: session)
        for try await _ in client.pages(of: Linked()).elements { Issue.record("an empty list has elements") }
        #expect(session.mock.exchanges.count < 9)
        let pager = client.pager(of: Linked(size: 7))
        #expect(try await pager.next()?.elements == [1])
        do throws(NetworkError) {
            _ = try await pager.next()
            Issue.record("another server was asked")
        } catch { #expect(error.code == .badResponse) }
        #expect(!session.mock.exchanges.contains { $0.url.contains("evil") })
        #expect(try await client.pager(of: Numbered(page: .max)).next()?.isLast == true)
        await session.shutdown()
    }

    @Test func circlesAreFoundWithTheMemoryOfOneName() {
        for (start, length) in [(0, 1), (0, 2), (3, 5), (10, 1), (17, 64)] {
            var trail = PageTrail()
            var steps = 0
            while trail.passes("\(steps < start ? -steps - 1 : (steps - start) % length)"), steps < 10_000 { steps += 1 }
            #expect(steps < (start + length) * 4 + 4)
        }
        var straight = PageTrail()
        #expect((0..<1_000).allSatisfy { straight.passes("\($0)") } && (0..<3).allSatisfy { _ in straight.passes(nil) })
    }

    /// Cancels at any moment: nobody waits for ever, and no page is lost.
    @Test func cancelledAtAnyMomentNoPageIsLost() async throws {
        let client = client()
        for round in 0..<200 {
            let pager = client.pager(of: Numbered(), prefetching: round.isMultiple(of: 3))
            var all: [Int] = []
            var attempts = 0
            while true {
                attempts += 1
                let task = Task { try await pager.next() }
                if attempts < 8 {
                    for _ in 0..<(round + attempts) % 12 { await Task.yield() }
                    task.cancel()
                }
                guard let result = try? await task.value else {
                    if attempts < 8 { continue }
                    break
                }
                all += result.elements
            }
            let right = [1, 2, 3].suffix(all.count)
            #expect(all == Array(right) && all.count <= 3, "\(all)")
        }
        await client.session.agent.waitUntilIdle()
        await client.session.shutdown()
    }
}
