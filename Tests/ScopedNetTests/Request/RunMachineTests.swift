import CleanSlate
import Testing

@testable import ScopedNet

@Suite(.leavesNothing)
struct RunMachineTests {
    /// The steps that the events lead to, from the start.
    private func steps(_ events: RunEvent...) -> [RunStep?] {
        var machine = RunMachine()
        return events.map { machine.handle($0) }
    }

    /// A machine that has come to a response to be judged.
    private func judging() -> RunMachine {
        var machine = RunMachine()
        for event in [
            RunEvent.began(.request), .changed(elsewhere: false), .uncached, .done, .done, .done, .done, .done, .done, .done, .done,
            .answered,
        ] { _ = machine.handle(event) }
        return machine
    }

    @Test("a plain GET goes from its start to its delivery")
    func plain() {
        #expect(
            steps(
                .began(.request), .changed(elsewhere: false), .uncached, .done, .done, .done, .done, .done, .done, .done, .done, .answered,
                .accepted(hasFile: false), .done)
                == [
                    .authorize, .consultCache(elsewhere: false), .awaitPath, .interceptExchange, .awaitRate, .awaitSlot, .transfer,
                    .awaitDisposition, .finishPart, .leaveExchange, .updateCache, .judge(after: nil), .makeValue, .deliver,
                ])
    }

    @Test("a stored response is judged like any other")
    func stored() {
        #expect(
            steps(.began(.request), .changed(elsewhere: false), .found, .answered, .accepted(hasFile: false), .done)
                == [.authorize, .consultCache(elsewhere: false), .serve, .judge(after: nil), .makeValue, .deliver])
    }

    @Test("a stored body that is lost is asked for as if it had never been")
    func lost() {
        #expect(
            steps(.began(.request), .changed(elsewhere: false), .found, .changed(elsewhere: false), .missed(isShared: true), .done, .done)
                == [
                    .authorize, .consultCache(elsewhere: false), .serve, .consultCache(elsewhere: false), .coalesce, .condition, .awaitPath,
                ])
    }

    @Test("a download claims its target first, and its file gets its place before its value is made")
    func download() {
        #expect(steps(.began(.download), .done).last == .authorize)
        var machine = judging()
        #expect(machine.handle(.accepted(hasFile: true)) == .placeFile)
        #expect(machine.handle(.done) == .makeValue)
        #expect(machine.handle(.decoded) == .copyToCache)
        #expect(machine.handle(.done) == .deliver)
    }

    @Test("a refresh has asked the cache already")
    func refresh() {
        #expect(steps(.began(.refresh), .done) == [.condition, .awaitPath])
    }

    @Test("a retry waits and takes its place in the rate and in the queue again; it does not ask the cache")
    func retry() {
        var machine = judging()
        #expect(machine.handle(.retried) == .backOff)
        #expect(machine.handle(.done) == .interceptExchange)
        #expect(machine.handle(.done) == .awaitRate)
        #expect(machine.handle(.done) == .awaitSlot)
    }

    @Test("a redirect and an answered challenge ask the cache, on a thread that may block")
    func redirect() {
        var machine = judging()
        #expect(machine.handle(.changed(elsewhere: true)) == .consultCache(elsewhere: true))
    }

    @Test("suspended with a slot, a run waits for it anew, or goes on where nobody has seen it")
    func suspended() {
        for hasSlot in [false, true] {
            var machine = RunMachine()
            for event in [RunEvent.began(.refresh), .done, .done, .done, .done] { _ = machine.handle(event) }
            #expect(machine.step == .awaitSlot)
            #expect(machine.handle(.suspended) == .park)
            #expect(machine.handle(.resumed(hasSlot: hasSlot)) == (hasSlot ? .transfer : .awaitRate))
        }
    }

    @Test("what has declined a response is not asked about it again")
    func oneDirection() {
        var machine = judging()
        #expect(machine.handle(.declined(.retry)) == .judge(after: .retry))
        #expect(machine.handle(.declined(.redirect)) == nil)
        #expect(machine.handle(.declined(.retry)) == nil)
        #expect(machine.handle(.declined(.status)) == .judge(after: .status))
        // A stored response in the place of an error is one that has declined nothing.
        #expect(machine.handle(.found) == .serve)
        #expect(machine.handle(.answered) == .judge(after: nil))
    }

    @Test("a wait that is too long may end with something stored")
    func expired() {
        for count in 2...5 {
            var machine = RunMachine()
            for event in [RunEvent.began(.refresh), .done, .done, .done, .done].prefix(count) { _ = machine.handle(event) }
            #expect(machine.handle(.expired) == .replaceError)
            #expect(machine.handle(.found) == .serve)
        }
    }

    @Test("interceptors of the call have the request before its target and credentials, and the error before it is the outcome")
    func call() {
        #expect(steps(.began(.call), .began(.request)) == [.interceptCall, .authorize])
        #expect(steps(.began(.call), .began(.download)) == [.interceptCall, .claimTarget])
        #expect(steps(.began(.call), .answered) == [.interceptCall, .judge(after: .interception)])
        #expect(steps(.began(.request), .failed, .answered) == [.authorize, .fail, .judge(after: .interception)])
        #expect(steps(.began(.request), .failed, .began(.request)) == [.authorize, .fail, .authorize])
        #expect(steps(.began(.download), .failed, .began(.download)) == [.claimTarget, .fail, .claimTarget])
        var machine = judging()
        #expect(machine.handle(.declined(.interception)) == .judge(after: .interception))
        #expect(machine.handle(.began(.request)) == .authorize)
    }

    @Test("interceptors of an exchange have the request before its turn in the rate, and the response before the cache")
    func exchange() {
        var machine = RunMachine()
        for event in [RunEvent.began(.refresh), .done, .done] { _ = machine.handle(event) }
        #expect(machine.step == .interceptExchange)
        var answered = machine
        #expect(answered.handle(.answered) == .judge(after: nil))
        for _ in 0..<6 { _ = machine.handle(.done) }
        #expect(machine.step == .leaveExchange)
        #expect(machine.handle(.retried) == .backOff)
        #expect(machine.handle(.done) == .interceptExchange)
    }

    /// Each step that events can lead to, and each event.
    private func reachable() -> (machines: Set<RunMachine>, events: [RunEvent]) {
        var events: [RunEvent] = [
            .began(.call), .began(.request), .began(.download), .began(.refresh), .done, .changed(elsewhere: false),
            .changed(elsewhere: true), .uncached,
            .found, .foundFirst, .missed(isShared: false), .missed(isShared: true), .delayed, .suspended, .resumed(hasSlot: false),
            .resumed(hasSlot: true), .answered, .retried, .accepted(hasFile: false), .accepted(hasFile: true), .refused, .decoded, .expired,
            .failed,
        ]
        events += ResponseVerdict.allCases.map { .declined($0) }
        var (seen, new): (Set<RunMachine>, [RunMachine]) = ([RunMachine()], [RunMachine()])
        while let machine = new.popLast() {
            for event in events {
                var next = machine
                if next.handle(event) != nil, seen.insert(next).inserted { new.append(next) }
            }
        }
        return (seen, events)
    }

    @Test("an error ends a run from everywhere, once, and nothing follows the delivery")
    func failures() {
        let (machines, events) = reachable()
        #expect(machines.count > 30)
        for machine in machines {
            var failing = machine
            let isOver = machine.step == .fail || machine.step == .deliver
            #expect(failing.handle(.failed) == (isOver ? nil : .fail))
            guard machine.step == .deliver else { continue }
            for event in events {
                var over = machine
                #expect(over.handle(event) == nil)
                #expect(over == machine)
            }
        }
    }

    @Test("an event that is none of the present step changes nothing")
    func dropped() {
        let (machines, events) = reachable()
        for machine in machines {
            for event in events {
                var next = machine
                if next.handle(event) == nil { #expect(next == machine) }
            }
        }
    }

    @Test("from every step there is a way to the delivery")
    func noDeadEnd() {
        let (machines, events) = reachable()
        for machine in machines {
            var (seen, new): (Set<RunMachine>, [RunMachine]) = ([machine], [machine])
            while let next = new.popLast() {
                // A refused response is stored, and then is the error.
                for event in events where event != .failed || next.step == .storeRefused {
                    var following = next
                    if following.handle(event) != nil, seen.insert(following).inserted { new.append(following) }
                }
            }
            #expect(seen.contains { $0.step == .deliver }, "\(machine.step)")
        }
    }
}
