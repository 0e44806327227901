import CleanSlate
import Foundation
import FoundationNetworking
import HTTPTypes
import ScopedNetTestServer
import Testing

@testable import ScopedNet
@testable import ScopedNetFoundation

/// REQ-3, YTK-4: a request that was described by Foundation's type.
@Suite(.leavesNothing) struct URLRequestTests {
    private func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

    @Test func itIsSent() async throws {
        try await withHouse { house in
            house.server.on("/a", .ok())
            var request = URLRequest(url: try url(house.url("/a?q=1")))
            request.httpMethod = "PATCH"
            request.httpBody = Data("body".utf8)
            request.setValue("1", forHTTPHeaderField: "X-One")
            request.addValue("2", forHTTPHeaderField: "X-One")
            _ = try await house.session.request(request).value()
            let seen = try #require(house.server.requests.first)
            #expect(seen.method == "PATCH" && seen.target == "/a?q=1" && seen.body == Array("body".utf8) && seen["X-One"] == "1,2")
        }
    }

    @Test(arguments: [nil, 100_000] as [Int64?]) func aStreamIsSentOnce(length: Int64?) async throws {
        try await withHouse { house in
            house.server.on("/a", .ok())
            let data = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
            var request = URLRequest(url: try url(house.url("/a")))
            request.httpMethod = "POST"
            request.httpBodyStream = InputStream(data: data)
            if let length { request.setValue("\(length)", forHTTPHeaderField: "Content-Length") }
            let made = house.session.request(request)
            _ = try await made.value()
            #expect(house.server.requests.first?.body == Array(data))
            let error = await #expect(throws: NetworkError.self) { try await made.value() }
            #expect(error?.code == .bodyNotReplayable)
        }
    }

    @Test func aStreamThatCannotBeReadIsAnError() async throws {
        try await withHouse { house in
            house.server.on("/a", .ok())
            let place = try url("file:///nowhere/at/all")
            guard let stream = InputStream(url: place) else { throw CancellationError() }
            let request = house.session.post(house.url("/a"), body: .inputStream(stream))
            let error = await #expect(throws: NetworkError.self) { try await request.value() }
            #expect(error?.code == .bodyStreamFailed && error?.underlying != nil)
        }
    }

    @Test func theOptionsAreTakenOver() throws {
        var request = URLRequest(url: try url("http://a.invalid/"))
        request.timeoutInterval = 7
        request.httpShouldHandleCookies = false
        request.networkServiceType = .background
        let session = Session(configuration: Session.Configuration(agent: RequestAgent()))
        let options = session.request(request).currentOptions
        #expect(options.timeouts.idle == .seconds(7) && options.timeouts.firstByte == .seconds(7))
        #expect(options.timeouts.connect == .seconds(10))
        #expect(!options.handlesCookies && options.priority == .low)
        let untouched = session.request(URLRequest(url: try url("http://a.invalid/"))).currentOptions
        #expect(untouched.timeouts == Timeouts() && untouched.handlesCookies && untouched.priority == .normal)
    }

    @Test(
        arguments: [
            (.useProtocolCachePolicy, .validOrNetwork), (.reloadIgnoringLocalCacheData, .none), (.returnCacheDataDontLoad, .only),
            (.reloadRevalidatingCacheData, .revalidate), (.returnCacheDataElseLoad, .validOrNetwork),
        ] as [(URLRequest.CachePolicy, ScopedNet.CachePolicy.ReadMode)])
    func theCachePolicyIsTakenOver(policy: URLRequest.CachePolicy, mode: ScopedNet.CachePolicy.ReadMode) throws {
        var request = URLRequest(url: try url("http://a.invalid/"))
        request.cachePolicy = policy
        let session = Session(configuration: Session.Configuration(agent: RequestAgent()))
        let cache = session.request(request).currentOptions.cache
        #expect(cache.read == mode && (cache.timeToLive != nil) == (policy == .returnCacheDataElseLoad))
    }

    @Test func mistakesAreTheFailureOfTheStart() async throws {
        let session = Session(configuration: Session.Configuration(agent: RequestAgent()))
        var request = URLRequest(url: try url("http://127.0.0.1:1/"))
        request.url = nil
        let error = await #expect(throws: NetworkError.self) { try await session.request(request).value() }
        #expect(error?.code == .invalidURL)
        await session.agent.waitUntilIdle()
    }

    @Test func thereAndBack() throws {
        var request = URLRequest(url: try url("https://a.invalid:8443/p?q=%41"))
        request.httpMethod = "PUT"
        request.httpBody = Data([1, 2, 3])
        request.timeoutInterval = 9
        request.httpShouldHandleCookies = false
        request.cachePolicy = .reloadIgnoringLocalCacheData
        request.allHTTPHeaderFields = ["Accept": "text/plain", "X-A": "b"]
        let session = Session(configuration: Session.Configuration(agent: RequestAgent()))
        let back = try URLRequest(session.request(request))
        #expect(back.url == request.url && back.httpMethod == "PUT" && back.httpBody == request.httpBody)
        #expect(back.timeoutInterval == 9 && !back.httpShouldHandleCookies && back.cachePolicy == request.cachePolicy)
        #expect(back.allHTTPHeaderFields == request.allHTTPHeaderFields)
    }
}
