import CleanSlate
import Testing

@_spi(Transport) @testable import ScopedNet

@Suite(.leavesNothing) struct NameLookupsTests {
    /// Begins a lookup that the limits allow.
    private func begun(_ host: String, in lookups: inout NameLookups) throws -> NameLookups.Ticket {
        let ticket = lookups.begin(host)
        return try #require(ticket)
    }

    @Test func aLookupCountsUntilItHasEnded() throws {
        var lookups = NameLookups(total: 2, perHost: 2)
        let first = try begun("a", in: &lookups)
        _ = try begun("b", in: &lookups)
        #expect(lookups.begin("c") == nil)
        #expect(lookups.running == 2)
        lookups.end(first)
        #expect(lookups.running == 1)
        #expect(lookups.begin("c") != nil)
    }

    @Test func oneHostDoesNotTakeAllPlaces() throws {
        var lookups = NameLookups(total: 8, perHost: 2)
        let first = try begun("dead", in: &lookups)
        #expect(lookups.begin("dead") != nil)
        #expect(lookups.begin("dead") == nil)
        #expect(lookups.begin("alive") != nil)
        lookups.end(first)
        #expect(lookups.begin("dead") != nil)
    }

    @Test func limitsAreAtLeastOne() {
        for (total, perHost) in [(0, 0), (-1, 4), (1, 0)] {
            var lookups = NameLookups(total: total, perHost: perHost)
            #expect(lookups.begin("a") != nil)
            #expect(lookups.begin("b") == nil)
        }
    }

    @Test func theLongestWaitingGoesFirst() throws {
        var lookups = NameLookups(total: 1, perHost: 1)
        let running = try begun("a", in: &lookups)
        let ids = (0..<4).map { _ in TransferID() }
        lookups.wait(ids[0], for: "b")
        lookups.wait(ids[1], for: "a")
        lookups.wait(ids[2], for: "b")
        lookups.wait(ids[3], for: "c")
        #expect(lookups.next() == nil)
        lookups.end(running)
        // None of them needs a lookup after all, and so none ends: they go on all the same.
        #expect((0..<5).map { _ in lookups.next() } == [ids[0], ids[2], ids[1], ids[3], nil])
        #expect(!lookups.isAnyoneWaiting)
    }

    @Test func aFullHostIsPassedOver() throws {
        var lookups = NameLookups(total: 2, perHost: 1)
        let dead = try begun("dead", in: &lookups)
        let (first, second) = (TransferID(), TransferID())
        lookups.wait(first, for: "dead")
        lookups.wait(second, for: "alive")
        #expect(lookups.next() == second)
        #expect(lookups.next() == nil)
        #expect(lookups.isAnyoneWaiting)
        lookups.end(dead)
        #expect(lookups.next() == first)
    }

    @Test func whoHasStoppedWaitingIsNotTaken() throws {
        var lookups = NameLookups(total: 1, perHost: 1)
        let running = try begun("a", in: &lookups)
        let (gone, stays) = (TransferID(), TransferID())
        lookups.wait(gone, for: "a")
        lookups.wait(stays, for: "a")
        lookups.stopWaiting(gone)
        lookups.end(running)
        #expect(lookups.next() == stays)
        #expect(lookups.next() == nil)
        #expect(!lookups.isAnyoneWaiting)
    }

    @Test func anotherNetworkBeginsAnew() throws {
        var lookups = NameLookups(total: 1, perHost: 1)
        let old = try begun("a", in: &lookups)
        let waiting = TransferID()
        lookups.wait(waiting, for: "a")
        lookups.networkChanged()
        #expect(lookups.next() == waiting)
        let new = try begun("a", in: &lookups)
        // A thread of the old network is no place in the new one.
        lookups.end(old)
        #expect(lookups.begin("a") == nil)
        lookups.end(new)
        #expect(lookups.running == 0)
    }

    /// However lookups begin, end and are waited for: the limits hold, and and no transfer waits without a lookup before it.
    @Test(arguments: 0..<20 as Range<UInt64>) func limitsHoldInAnyOrder(_ seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let (total, perHost) = (Int.random(in: 1...6, using: &random), Int.random(in: 1...4, using: &random))
        var lookups = NameLookups(total: total, perHost: perHost)
        var running: [NameLookups.Ticket] = []
        var waiting: [TransferID: String] = [:]
        for _ in 0..<2_000 {
            let host = "host-\(Int.random(in: 0..<4, using: &random))"
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<5:
                if let ticket = lookups.begin(host) {
                    running.append(ticket)
                } else {
                    #expect(running.count == total || running.count { $0.host == host } == min(perHost, total))
                    let id = TransferID()
                    waiting[id] = host
                    lookups.wait(id, for: host)
                }
            case 5..<8:
                if let index = running.indices.randomElement(using: &random) { lookups.end(running.remove(at: index)) }
            default:
                if let id = waiting.keys.min(by: { $0.number < $1.number }) {
                    waiting[id] = nil
                    lookups.stopWaiting(id)
                }
            }
            while let id = lookups.next() {
                let taken = waiting.removeValue(forKey: id)
                let host = try #require(taken, "taken twice, or after it had stopped waiting")
                // Every second one finds its name known.
                if Bool.random(using: &random) { running.append(try begun(host, in: &lookups)) }
            }
            #expect(lookups.running == running.count)
            #expect(running.count <= total)
            #expect(lookups.isAnyoneWaiting == !waiting.isEmpty)
            for host in Set(waiting.values) {
                #expect(running.count == total || running.count { $0.host == host } == min(perHost, total), "waits for nothing")
            }
        }
    }
}
