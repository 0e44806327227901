import CleanSlate
import Reachability
import Testing

@testable import ScopedNet

@Suite(.leavesNothing) struct ConnectivityTargetsTests {
    private func targets(_ host: String, unix: Bool = false, proxy: String? = nil) -> [NetworkPath.Target] {
        ConnectivityTargets.targets(host: host, port: 443, isUnixSocket: unix, proxy: proxy)
    }

    @Test(arguments: ["localhost", "LocalHost", "localhost.", "api.localhost", "127.0.0.1", "127.8.9.10", "[::1]"])
    func whatStaysOnThisMachineWaitsForNobody(_ host: String) {
        #expect(targets(host).isEmpty)
    }

    @Test func aNameNeedsTheNetworkAtLargeOrItself() {
        #expect(targets("example.org") == [.defaultPath, .host("example.org", port: 443)])
        #expect(targets("mylocalhost") == [.defaultPath, .host("mylocalhost", port: 443)])
    }

    @Test func anAddressCountsByItself() throws {
        let address = try #require(IPAddress("192.0.2.7"))
        #expect(targets("192.0.2.7") == [.address(address, port: 443)])
        let six = try #require(IPAddress("2001:db8::7"))
        #expect(targets("[2001:db8::7]") == [.address(six, port: 443)])
    }

    @Test func aProxyStandsForAllServersBehindIt() throws {
        let address = try #require(IPAddress("192.0.2.9"))
        #expect(targets("example.org", proxy: "http://192.0.2.9:3128") == [.address(address, port: 3128)])
        #expect(targets("example.org", proxy: "socks5h://localhost:1080").isEmpty)
    }

    @Test func aUnixSocketWaitsForNobody() {
        #expect(targets("example.org", unix: true).isEmpty)
    }
}

@Suite(.leavesNothing) struct RetryTimingTests {
    private func decide(_ wait: Duration, _ hasPath: Bool?, longest: Duration = .seconds(30), random: Double = 0.5) -> RetryTiming {
        RetryTiming.decide(wait: wait, hasPath: hasPath, longest: longest, random01: random)
    }

    @Test func withAPathOrWithoutKnowledgeTheClockDecides() {
        #expect(decide(.seconds(2), true) == .after(.seconds(2)))
        #expect(decide(.seconds(2), nil) == .after(.seconds(2)))
    }

    @Test func withoutAPathTheNextOneDecides() {
        #expect(decide(.seconds(2), false) == .withPath(jitter: .milliseconds(500), atMost: .seconds(30)))
        #expect(decide(.milliseconds(200), false) == .withPath(jitter: .milliseconds(100), atMost: .seconds(30)))
    }

    @Test func jitterStaysBetweenZeroAndTheWait() {
        #expect(decide(.seconds(9), false, random: 1) == .withPath(jitter: RetryTiming.longestJitter, atMost: .seconds(30)))
        #expect(decide(.seconds(9), false, random: -3) == .withPath(jitter: .zero, atMost: .seconds(30)))
        #expect(decide(.seconds(1), false, random: .nan) == .withPath(jitter: .milliseconds(500), atMost: .seconds(30)))
    }

    @Test func theServersWishIsALowerBoundOfTheLongestWait() {
        #expect(decide(.seconds(60), false, random: 0) == .withPath(jitter: .zero, atMost: .seconds(60)))
    }

    @Test func whatIsToGoAtOnceGoesAtOnce() {
        #expect(decide(.zero, false) == .after(.zero))
    }
}
