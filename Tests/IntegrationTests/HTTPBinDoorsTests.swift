import CleanSlate
import Foundation
import ScopedNet
import Synchronization
import Testing

/// One body of tests for every way to ask httpbin: whichever is taken, the same is heard, once.
@Suite(.leavesNothing, .serialized, .enabled(if: Servers.httpbin.http != nil, Servers.whyNoHTTPBin), .timeLimit(.minutes(2)))
struct HTTPBinDoorsTests {
    struct Echo: Decodable, Sendable { let method: String }

    /// What came of a request, in words all doors have.
    enum Heard: Equatable, Sendable, CustomTestStringConvertible {
        case value(String)
        case failure(NetworkError.Code)

        var testDescription: String {
            switch self {
            case .value(let text): text
            case .failure(let code): "\(code)"
            }
        }
    }

    enum Door: CaseIterable, Sendable {
        case closures, closuresOfAnOwner, delegate, value, response
    }

    static let exchanges: [(path: String, heard: Heard)] = [
        ("/anything", .value("GET")),
        ("/redirect-to?url=/anything&status_code=302", .value("GET")),
        ("/status/503", .failure(.unacceptableStatus)),
        ("/robots.txt", .failure(.unacceptableContentType)),
        ("/json", .failure(.decodingFailed)),
        ("/redirect/9", .failure(.tooManyRedirects)),
        ("/delay/9", .failure(.firstByteTimeout)),
    ]

    @Test(arguments: Door.allCases, exchanges)
    func allDoorsHearTheSame(door: Door, exchange: (path: String, heard: Heard)) async throws {
        let session = Servers.session()
        let request = session.request(Servers.httpbinURL + exchange.path, decoder: .json(Echo.self)).options { options in
            options.redirects.maxRedirects = 3
            if exchange.heard == .failure(.firstByteTimeout) { options.timeouts.firstByte = .milliseconds(200) }
        }
        let heard = await door.hear(request, of: session.agent)
        #expect(heard == [exchange.heard])
    }

    /// An owner that goes takes its requests with it, at every door that knows one.
    @Test(arguments: [Door.closuresOfAnOwner, .delegate]) func anOwnerThatGoesHearsNothing(door: Door) async throws {
        let session = Servers.session()
        let words = Words()
        var listener: Listener? = Listener(words)
        let request = session.request(Servers.httpbinURL + "/delay/9", decoder: .json(Echo.self))
        if door == .delegate { _ = request.delegate(sendable: listener ?? Listener(words)) } else { listener?.listen(to: request) }
        let run = listener.map { request.start(for: $0) }
        listener = nil
        await session.agent.waitUntilIdle()
        #expect(words.all.isEmpty)
        #expect(run?.status.cancelReason == .ownerReleased)
    }
}

extension HTTPBinDoorsTests.Door {
    /// Everything that is heard of a request, until no user code is pending.
    func hear(_ request: Request<HTTPBinDoorsTests.Echo>, of agent: RequestAgent) async -> [HTTPBinDoorsTests.Heard] {
        let words = Words()
        switch self {
        case .closures:
            request.onSuccess { words.add(.value($0.method)) }.onFailure { words.add(.failure($0.code)) }.start()
            await agent.waitUntilIdle()
        case .closuresOfAnOwner:
            let owner = Listener(words)
            owner.listen(to: request)
            request.start(for: owner)
            await agent.waitUntilIdle()
        case .delegate:
            let owner = Listener(words)
            _ = request.delegate(sendable: owner)
            request.start()
            await agent.waitUntilIdle()
            // Held until then: a delegate is weak.
            withExtendedLifetime(owner) {}
        case .value:
            do throws(NetworkError) { words.add(.value(try await request.value().method)) } catch { words.add(.failure(error.code)) }
        case .response:
            do throws(NetworkError) {
                words.add(.value(try await request.response().value.method))
            } catch { words.add(.failure(error.code)) }
        }
        return words.all
    }
}

private final class Words: Sendable {
    private let list = Mutex<[HTTPBinDoorsTests.Heard]>([])
    func add(_ word: HTTPBinDoorsTests.Heard) { list.withLock { $0.append(word) } }
    var all: [HTTPBinDoorsTests.Heard] { list.withLock { $0 } }
}

private final class Listener: RequestOwner, RequestDelegate, Sendable {
    let deallocBag = DeallocBag(label: "Listener")
    private let words: Words
    init(_ words: Words) { self.words = words }

    func listen(to request: Request<HTTPBinDoorsTests.Echo>) {
        _ = request.onSuccess(for: self) { owner, echo in owner.words.add(.value(echo.method)) }
            .onFailure(for: self) { owner, error in owner.words.add(.failure(error.code)) }
    }

    func request(_ run: Run.Info, didSucceedWith value: any Sendable, response: ResponseHead) {
        words.add(.value((value as? HTTPBinDoorsTests.Echo)?.method ?? "another value"))
    }

    func request(_ run: Run.Info, didFailWith error: NetworkError) { words.add(.failure(error.code)) }
}
