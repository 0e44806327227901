/// The end of very many runs at once.
enum RunGroup: ScopeGroup {
    static func tearDown(moving members: inout [ScopeMember]) {
        var runs = members.compactMap { $0 as? RunDriver }
        members.removeAll(keepingCapacity: true)
        takeOutOfQueues(runs)
        var silent: [RunDriver] = []
        silent.reserveCapacity(runs.count)
        var last = LastWords()
        while let run = runs.popLast() {
            run.fallSilent()
            if run.feed != nil {
                last.events.append(run)
            } else if run.hasLastWord {
                last.items.append((run.lane, .run(run, .cancelled)))
            } else if run.noteLastWord(), run.noteRetired() {
                silent.append(run)
            }
        }
        last.say()
        retire(moving: &silent)
    }

    /// Those whose queue is the same stand side by side, nearly always.
    private static func takeOutOfQueues(_ runs: [RunDriver]) {
        for group in runs.grouped(by: { ObjectIdentifier($0.slots) }) {
            group.first?.slots.removeAll(group.lazy.filter { !$0.isMuted })
        }
    }

    private static func retire(moving runs: inout [RunDriver]) {
        let groups = runs.grouped(by: { ObjectIdentifier($0.session) }).compactMap { group -> (agent: RequestAgent, ids: [UInt64])? in
            guard let agent = group.first?.agent else { return nil }
            agent.remove(group)
            return (agent, group.map(\.id))
        }
        runs = []
        for group in groups { group.agent.settle(group.ids) }
    }

    private struct LastWords {
        var events: [RunDriver] = []
        var items: [(lane: DeliveryLane, item: DeliveryLane.Item)] = []

        consuming func say() {
            for run in events { run.feed?.push(.cancelled, from: run) }
            events = []
            let groups = items.grouped(by: { ObjectIdentifier($0.lane) }).compactMap { group in
                group.first.map { (lane: $0.lane, items: group.map(\.item)) }
            }
            items = []
            for var group in groups { group.lane.enqueue(moving: &group.items) }
        }
    }
}

extension Array {
    /// Neighbours with the same owner, together, in order.
    fileprivate func grouped(by owner: (Element) -> ObjectIdentifier) -> [ArraySlice<Element>] {
        var groups: [ArraySlice<Element>] = []
        var start = startIndex
        while start < endIndex {
            let first = owner(self[start])
            let end = self[start...].firstIndex { owner($0) != first } ?? endIndex
            groups.append(self[start..<end])
            start = end
        }
        return groups
    }
}
