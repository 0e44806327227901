import CleanSlate
import Dispatch
import Glibc
import SystemSupport
import Testing

@testable import Reachability

/// Names, without a network: the resolver is the test's.
@Suite(.leavesNothing, .timeLimit(.minutes(5))) struct ResolverThreadsTests {
    /// Answers when it is let.
    private final class GatedResolver: NameResolver {
        let gate = DispatchSemaphore(value: 0)
        let entered = DispatchSemaphore(value: 0)
        func addresses(of host: String) -> [IPAddress]? {
            entered.signal()
            gate.wait()
            return [IPAddress(192, 0, 2, 1)]
        }
    }

    private struct InstantResolver: NameResolver {
        func addresses(of host: String) -> [IPAddress]? { [IPAddress(192, 0, 2, 7)] }
    }

    private final class Answers: Sendable {
        private let state = Lock<[[IPAddress]?]>([])
        private let arrived = DispatchSemaphore(value: 0)
        func add(_ answer: [IPAddress]?) {
            state.withLock { $0.append(answer) }
            arrived.signal()
        }
        /// The answers, once there are so many.
        func wait(_ count: Int) -> [[IPAddress]?] {
            for _ in 0..<count { _ = arrived.wait(timeout: .now() + 30) }
            return state.withLock { $0 }
        }
    }

    @Test func stoppedItAnswersThatItCannot() throws {
        let threads = ResolverThreads(resolver: InstantResolver(), namespace: try HeldNamespace(.current))
        threads.stop()
        let answers = Answers()
        threads.resolve("example.test") { answers.add($0) }
        let all = answers.wait(1)
        #expect(all == [nil])
    }

    @Test func whatWaitedAtTheStopIsAnsweredAndSoIsWhatWasUnderWay() throws {
        let resolver = GatedResolver()
        let threads = ResolverThreads(resolver: resolver, namespace: try HeldNamespace(.current))
        let (underWay, waiting) = (Answers(), Answers())
        for number in 0..<4 { threads.resolve("\(number).test") { underWay.add($0) } }
        for _ in 0..<4 { resolver.entered.wait() }
        for number in 4..<10 { threads.resolve("\(number).test") { waiting.add($0) } }
        threads.stop()
        let gaveUp = waiting.wait(6)
        #expect(gaveUp == Array(repeating: nil, count: 6))
        for _ in 0..<4 { resolver.gate.signal() }
        let answered = underWay.wait(4)
        #expect(answered == Array(repeating: [IPAddress(192, 0, 2, 1)], count: 4))
    }

    /// The first lookup answers when it is let, and later ones at once.
    private final class OvertakenResolver: NameResolver {
        let gate = DispatchSemaphore(value: 0)
        let entered = DispatchSemaphore(value: 0)
        private let lookups = Lock<UInt8>(0)
        func addresses(of host: String) -> [IPAddress]? {
            let number = lookups.withLock { count in
                count += 1
                return count
            }
            if number == 1 {
                entered.signal()
                gate.wait()
            }
            return [IPAddress(192, 0, 2, number)]
        }
    }

    private func run(_ resolver: any NameResolver = InstantResolver()) throws -> MonitorRun {
        var configuration = ReachabilityMonitor.Configuration()
        configuration.resolver = resolver
        let kernel = try PollingKernel(classifier: InterfaceClassifier(usesSysfs: false))
        return try MonitorRun(
            configuration: configuration, kernel: kernel, backend: .polling(interval: .seconds(1)),
            namespace: HeldNamespace(.current))
    }

    /// A start is overtaken by a stop and the next start: it then asks with a run that has ended, for a member of another.
    @Test func aRunThatHasEndedDoesNotStandInTheWayOfTheNext() throws {
        let (old, new) = (try run(), try run())
        let member = Member(target: .host("example.test"), settle: SettleRule())
        member.state.withLock { state in
            _ = state.begin()
            state.run = ObjectIdentifier(new)
        }
        old.resolver.stop()
        old.resolve(member)
        new.resolve(member)
        let deadline = ContinuousClock.now + .seconds(30)
        var addresses: [IPAddress] = []
        while addresses.isEmpty, ContinuousClock.now < deadline { addresses = member.question.resolved }
        #expect(addresses == [IPAddress(192, 0, 2, 7)])
        new.resolver.stop()
    }

    /// Stopped and started while others keep the thread: the answer to the earlier start comes late, and is old.
    @Test func anAnswerAskedForInAnEarlierLifeIsDropped() throws {
        let resolver = OvertakenResolver()
        let run = try run(resolver)
        let member = Member(target: .host("example.test"), settle: SettleRule())
        func begin() {
            member.state.withLock { state in
                _ = state.begin()
                state.run = ObjectIdentifier(run)
            }
            run.resolve(member)
        }
        /// An answer wakes the thread when it has been taken in, or dropped.
        func waitForAnAnswer() {
            var source = pollfd(fd: run.wakeDescriptor, events: Int16(POLLIN), revents: 0)
            let isThere = poll(&source, 1, 30_000) == 1
            #expect(isThere)
            _ = run.takeWake()
        }
        begin()
        resolver.entered.wait()
        member.state.withLock { _ = $0.end() }
        begin()
        waitForAnAnswer()
        let answered = member.question.resolved
        #expect(answered == [IPAddress(192, 0, 2, 2)])
        resolver.gate.signal()
        waitForAnAnswer()
        let kept = member.question.resolved
        #expect(kept == [IPAddress(192, 0, 2, 2)])
        run.resolver.stop()
    }

    @Test func aHostIsResolvedHoweverStartsAndStopsOvertakeEachOther() async throws {
        TestNetwork.raiseLoopback()
        var configuration = ReachabilityMonitor.Configuration()
        configuration.resolver = InstantResolver()
        for _ in 0..<100 {
            let monitor = ReachabilityMonitor(target: .host("example.test"), configuration: configuration)
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        try? monitor.start()
                        monitor.stop()
                    }
                }
            }
            try monitor.start()
            for await path in monitor.paths where path.remoteAddresses == [IPAddress(192, 0, 2, 7)] { break }
            monitor.stop()
        }
    }
}
