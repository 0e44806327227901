import CleanSlate
import Foundation
import Reachability
import ScopedNet
import Testing

/// Sessions over a wire that is cut: what becomes of pooled connections, of requests that wait, and of retries.
@Suite(.leavesNothing, .enabled(if: TestNetwork.isAvailable, TestNetwork.obstacle), .serialized, .timeLimit(.minutes(5)))
struct SessionTests {
    private static let url = "http://10.9.0.2:\(NeighbourServer.port)/"

    private struct Wire {
        let network: TestNetwork
        let session: Session
        let monitor: ReachabilityMonitor

        /// Sends so many requests at once, each on a connection of its own, and waits.
        func send(_ count: Int, _ options: @escaping @Sendable (inout RequestOptions) -> Void = { _ in }) -> [NetworkError?] {
            let group = DispatchGroup()
            let results = Results(count)
            for index in 0..<count {
                group.enter()
                session.request("\(SessionTests.url)\(count)").options(options)
                    .onFailure { results.set(index, $0) }
                    .onEnd { _ in group.leave() }
                    .start()
            }
            group.wait()
            return results.all
        }

        /// Connections of this namespace to the server, by the kernel's own table.
        var connections: Int {
            let table = (try? String(contentsOfFile: "/proc/thread-self/net/tcp", encoding: .ascii)) ?? ""
            return table.split(separator: "\n").count { line in
                let words = line.split(separator: " ")
                return words.count > 3 && words[2].hasSuffix(":1F90") && words[3] == "01"
            }
        }

        /// The link goes and comes back with another address, as when a laptop changes its network.
        func flap() throws {
            try network.ip("link set v0 down")
            try network.ip("addr del 10.9.0.1/24 dev v0")
            try network.ip("addr add 10.9.0.3/24 dev v0")
            try network.ip("link set v0 up")
            try network.ip("route add default via 10.9.0.2 dev v0")
        }
    }

    private final class Results: @unchecked Sendable {
        // Safety: the lock guards the list.
        private let lock = NSLock()
        private var list: [NetworkError?]
        init(_ count: Int) { list = Array(repeating: nil, count: count) }
        func set(_ index: Int, _ error: NetworkError) { lock.withLock { list[index] = error } }
        var all: [NetworkError?] { lock.withLock { list } }
    }

    private func withWire(
        _ connectivity: @escaping @Sendable (ReachabilityMonitor) -> Connectivity = { .monitor($0) },
        _ body: @escaping @Sendable (Wire) throws -> Void
    ) async throws {
        try await TestNetwork.run(.ipv4) { network in
            try network.addUplink(isPeerUp: false)
            let server = try NeighbourServer(link: "p0", address: "10.9.0.2", in: network)
            defer { server.stop() }
            try network.waitForCarriers(["v0"])
            let monitor = network.monitor()
            try monitor.start()
            var configuration = Session.Configuration(agent: RequestAgent())
            configuration.proxy = .none
            configuration.limits.perHost = 20
            configuration.connectivity = connectivity(monitor)
            try body(Wire(network: network, session: Session(configuration: configuration), monitor: monitor))
        }
    }

    private static func wait(_ seconds: Double = 10, until isRight: () -> Bool) -> Bool {
        let deadline = ContinuousClock.now + .seconds(seconds)
        while !isRight() {
            if ContinuousClock.now > deadline { return false }
            // The kernel's table and the monitor's thread tell nobody here: this looks again.
            usleep(1000)
        }
        return true
    }

    @Test func anotherNetworkDropsTwentyPooledConnectionsAtOnce() async throws {
        try await withWire { wire in
            let first = wire.send(20)
            #expect(first.allSatisfy { $0 == nil })
            // The watch begins with the first response.
            let watches = Self.wait { wire.session.link.connectivitySource()?.isSatisfied([.defaultPath]) == true }
            #expect(watches && wire.connections == 20)
            try wire.flap()
            let dropped = Self.wait { wire.connections == 0 }
            #expect(dropped, "\(wire.connections) dead connections are left")
            let second = wire.send(20) { $0.timeouts.firstByte = .seconds(10) }
            #expect(second.allSatisfy { $0 == nil }, "\(second.compactMap { $0 })")
            print("flap: 20 of 20 pooled connections dropped, the next 20 requests answered")
        }
    }

    /// That the test above can fail.
    @Test func withoutAWatchTheNextRequestHangsOnADeadConnection() async throws {
        try await withWire({ _ in .off }) { wire in
            let first = wire.send(20)
            #expect(first.allSatisfy { $0 == nil })
            try wire.flap()
            #expect(wire.connections == 20)
            let second = wire.send(1) { $0.timeouts.firstByte = .seconds(2) }
            #expect(second[0]?.isTimeout == true, "\(String(describing: second[0]))")
        }
    }

    @Test func aRequestWaitsForTheWire() async throws {
        try await withWire { wire in
            // The session's thread belongs to the namespace it is made in, which is this one's.
            let first = wire.send(1)
            #expect(first[0] == nil)
            let watches = Self.wait { wire.session.link.connectivitySource()?.isSatisfied([.defaultPath]) == true }
            #expect(watches)
            try wire.network.ip("link set v0 down")
            let isGone = Self.wait { wire.monitor.currentPath?.isSatisfied == false }
            #expect(isGone)
            let done = DispatchSemaphore(value: 0)
            let results = Results(1)
            wire.session.request(Self.url).options { $0.waitsForConnectivity = true }
                .onFailure { results.set(0, $0) }
                .onEnd { _ in done.signal() }
                .start()
            #expect(done.wait(timeout: .now() + 0.3) == .timedOut)
            try wire.network.ip("link set v0 up")
            try wire.network.ip("route add default via 10.9.0.2 dev v0")
            #expect(done.wait(timeout: .now() + 20) == .success)
            #expect(results.all[0] == nil, "\(String(describing: results.all[0]))")
        }
    }

    @Test func aRetryGoesOutWithTheWire() async throws {
        try await withWire { wire in
            let first = wire.send(1)
            #expect(first[0] == nil)
            let watches = Self.wait { wire.session.link.connectivitySource()?.isSatisfied([.defaultPath]) == true }
            #expect(watches)
            try wire.network.ip("link set v0 down")
            let isGone = Self.wait { wire.monitor.currentPath?.isSatisfied == false }
            #expect(isGone)
            let isDropped = Self.wait { wire.connections == 0 }
            #expect(isDropped, "\(wire.connections) connections are left")
            let done = DispatchSemaphore(value: 0)
            let results = Results(1)
            let began = ContinuousClock.now
            wire.session.request(Self.url)
                .options { $0.retry = RetryPolicy(maxAttempts: 2, backoffBase: .milliseconds(100), backoffCap: .seconds(300)) }
                .onFailure { results.set(0, $0) }
                .onEnd { _ in done.signal() }
                .start()
            #expect(done.wait(timeout: .now() + 0.5) == .timedOut)
            try wire.network.ip("link set v0 up")
            try wire.network.ip("route add default via 10.9.0.2 dev v0")
            #expect(done.wait(timeout: .now() + 60) == .success)
            #expect(results.all[0] == nil, "\(String(describing: results.all[0]))")
            print("retry: answered \(ContinuousClock.now - began) after the start, with the path and not by the clock")
        }
    }
}
