import CleanSlate
import Testing

@testable import ScopedNet

@Suite(.leavesNothing) struct HostRatesTests {
    /// By reference: an expectation cannot change a value.
    private final class Rates {
        private var value: HostRates<String>

        init(_ rate: HostRate) { value = HostRates(rate) }

        var waitingCount: Int { value.waitingCount }
        func permit(_ host: String, now: Int64) -> Bool { value.permit(host, now: now) }
        func wait(_ waiter: UInt64, for host: String, now: Int64) { value.wait(waiter, for: host, now: now) }
        func remove(_ waiter: UInt64) -> Bool { value.remove(waiter) }
        func send(_ host: String, now: Int64) -> Bool { value.send(host, now: now) }
        func giveBack(_ host: String) { value.giveBack(host) }
        func hold(_ host: String, until: Int64, now: Int64) { value.hold(host, until: until, now: now) }
        func takeReady(_ host: String, now: Int64) -> [UInt64] { value.takeReady(host, now: now) }
        func nextDue(_ host: String, now: Int64) -> Int64? { value.nextDue(host, now: now) }
    }

    private func rates(_ interval: Int64 = 100, burst: Int64 = 2) -> Rates { Rates(HostRate(interval: interval, burst: burst)) }

    @Test func aBurstGoesAtOnceAndTheRestAtTheRate() {
        let rates = rates()
        for _ in 0..<2 {
            let isPermitted = rates.permit("a", now: 1_000)
            let isSent = rates.send("a", now: 1_000)
            #expect(isPermitted && isSent)
        }
        #expect(!rates.permit("a", now: 1_000))
        rates.wait(1, for: "a", now: 1_000)
        rates.wait(2, for: "a", now: 1_000)
        #expect(rates.nextDue("a", now: 1_000) == 1_100)
        #expect(rates.takeReady("a", now: 1_099).isEmpty)
        #expect(rates.takeReady("a", now: 1_100) == [1])
        #expect(rates.nextDue("a", now: 1_100) == 1_200)
        #expect(rates.send("a", now: 1_100))
        #expect(rates.takeReady("a", now: 1_250) == [2] && rates.waitingCount == 0 && rates.nextDue("a", now: 1_250) == nil)
    }

    @Test func noMoreThanABurstIsSavedUp() {
        let rates = rates(burst: 3)
        _ = rates.permit("a", now: 0) && rates.send("a", now: 0)
        var count = 0
        while rates.permit("a", now: 1_000_000), rates.send("a", now: 1_000_000) { count += 1 }
        #expect(count == 3)
    }

    @Test func hostsDoNotCountForEachOther() {
        let rates = rates(burst: 1)
        #expect(rates.permit("a", now: 0) && rates.permit("b", now: 0))
        #expect(!rates.permit("a", now: 0) && !rates.permit("b", now: 0))
    }

    @Test func aPermitThatIsNotUsedHoldsUpItsPlaceOnly() {
        let rates = rates(burst: 1)
        #expect(rates.permit("a", now: 0))
        rates.wait(1, for: "a", now: 0)
        // However long it takes to send it: there is one place.
        #expect(rates.nextDue("a", now: 500) == nil && rates.takeReady("a", now: 500).isEmpty)
        rates.giveBack("a")
        #expect(rates.takeReady("a", now: 500) == [1])
        #expect(rates.send("a", now: 900))
        rates.wait(2, for: "a", now: 900)
        #expect(rates.nextDue("a", now: 900) == 1_000)
        rates.giveBack("a")
        rates.giveBack("b")
        #expect(rates.takeReady("a", now: 999).isEmpty && rates.takeReady("a", now: 1_000) == [2])
    }

    @Test func thoseWhoLeaveArePassedOver() {
        let rates = rates(burst: 1)
        _ = rates.permit("a", now: 0) && rates.send("a", now: 0)
        for waiter in 1...3 { rates.wait(UInt64(waiter), for: "a", now: 0) }
        #expect(rates.remove(1) && !rates.remove(1) && !rates.remove(9))
        #expect(rates.takeReady("a", now: 100) == [2])
        #expect(rates.remove(3) && rates.nextDue("a", now: 100) == nil && rates.waitingCount == 0)
    }

    @Test func aHeldHostWaits() {
        let rates = rates(burst: 2)
        #expect(rates.permit("a", now: 0))
        rates.hold("a", until: 5_000, now: 0)
        rates.hold("a", until: 4_000, now: 0)
        #expect(!rates.send("a", now: 10), "it had a permit, and was not sent")
        #expect(!rates.permit("a", now: 10) && rates.permit("b", now: 10))
        rates.wait(1, for: "a", now: 10)
        #expect(rates.nextDue("a", now: 10) == 5_000 && rates.takeReady("a", now: 4_999).isEmpty)
        #expect(rates.takeReady("a", now: 5_000) == [1] && rates.send("a", now: 5_000))
    }

    @Test func withoutARateOnlyAHoldCounts() {
        let rates = rates(0, burst: 1)
        for _ in 0..<100 { #expect(rates.permit("a", now: 0)) }
        rates.hold("a", until: 10, now: 0)
        rates.wait(1, for: "a", now: 0)
        rates.wait(2, for: "a", now: 0)
        #expect(rates.nextDue("a", now: 0) == 10 && rates.takeReady("a", now: 10) == [1, 2])
    }

    @Test func aHostThatRestsIsForgotten() {
        var rates = HostRates<Int>(HostRate(interval: 100, burst: 1))
        for host in 0..<10_000 {
            let now = Int64(host) * 10
            _ = rates.permit(host, now: now) && rates.send(host, now: now)
        }
        #expect(rates.hostCount <= 1_024)
    }

    /// Whatever comes, waits and leaves: in no time are more sent than the rate and a burst allow, and all who stay get their turn.
    @Test(arguments: 0..<20) func theRateHoldsInAnyOrder(_ seed: Int) {
        var generator = SeededGenerator(seed: UInt64(seed))
        let (interval, burst) = (Int64.random(in: 1...50, using: &generator), Int64.random(in: 1...5, using: &generator))
        let rates = Rates(HostRate(interval: interval, burst: burst))
        var (now, next) = (Int64(0), UInt64(0))
        var (permitted, sent): (Int, [Int64]) = (0, [])
        var open: Set<UInt64> = []
        for _ in 0..<2_000 {
            now += Int64.random(in: 0...20, using: &generator)
            switch Int.random(in: 0..<6, using: &generator) {
            case 0, 1:
                next += 1
                if rates.permit("a", now: now) {
                    permitted += 1
                } else {
                    rates.wait(next, for: "a", now: now)
                    open.insert(next)
                }
            case 2: if let one = open.randomElement(using: &generator), rates.remove(one) { open.remove(one) }
            case 3 where permitted > 0:
                permitted -= 1
                rates.giveBack("a")
            case 4 where permitted > 0:
                permitted -= 1
                if rates.send("a", now: now) { sent.append(now) }
            default: break
            }
            for one in rates.takeReady("a", now: now) {
                #expect(open.remove(one) != nil)
                permitted += 1
            }
            #expect(rates.waitingCount == open.count)
        }
        for first in sent.indices {
            for last in first..<sent.count where Int64(last - first + 1) > burst + (sent[last] - sent[first]) / interval {
                Issue.record("\(last - first + 1) were sent in \(sent[last] - sent[first])")
                return
            }
        }
        var rounds = 0
        while !open.isEmpty, rounds < 10_000 {
            rounds += 1
            for _ in 0..<permitted where rates.send("a", now: now) {}
            permitted = 0
            now = rates.nextDue("a", now: now) ?? now
            for one in rates.takeReady("a", now: now) {
                open.remove(one)
                permitted += 1
            }
        }
        #expect(open.isEmpty)
    }
}
