/// The end of very many runs at once.
extension RunCore {
    /// What ``tearDown(_:)`` does to each, with one round of every shared lock for all. Their gates are closed.
    ///
    /// - Parameter runs: is empty afterwards. Nobody here holds a run any more when its agent hears that it is gone.
    static func tearDown(moving runs: inout [RunCore]) {
        takeOutOfQueues(runs)
        var silent: [RunCore] = []
        silent.reserveCapacity(runs.count)
        var last = LastWords()
        for run in runs {
            run.fallSilent()
            if run.feed != nil {
                last.events.append(run)
            } else if run.hasLastWord {
                last.items.append((run.lane, .run(run, .cancelled)))
            } else if run.noteLastWord(), run.noteRetired() {
                silent.append(run)
            }
        }
        runs.removeAll(keepingCapacity: true)
        last.say()
        retire(moving: &silent)
    }

    /// Those whose queue is the same stand side by side, nearly always.
    private static func takeOutOfQueues(_ runs: [RunCore]) {
        for group in runs.grouped(by: { $0.session.admission }) {
            group.owner.removeAll(group.members.lazy.filter { !$0.isMuted })
        }
    }

    private static func retire(moving runs: inout [RunCore]) {
        let groups = runs.grouped(by: { $0.agent }).map { group in
            group.owner.remove(group.members)
            return (agent: group.owner, ids: group.members.map(\.id))
        }
        runs = []
        for group in groups { group.agent.settle(group.ids) }
    }

    private struct LastWords {
        var events: [RunCore] = []
        var items: [(lane: DeliveryLane, item: DeliveryLane.Item)] = []

        consuming func say() {
            for run in events { run.feed?.push(.cancelled, from: run) }
            events = []
            let groups = items.grouped(by: { $0.lane }).map { group in (lane: group.owner, items: group.members.map(\.item)) }
            items = []
            for group in groups {
                var items = group.items
                group.lane.enqueue(moving: &items)
            }
        }
    }
}

extension Array {
    /// Neighbours with the same owner, together, in order.
    fileprivate func grouped<Owner: AnyObject>(by owner: (Element) -> Owner) -> [(owner: Owner, members: ArraySlice<Element>)] {
        var groups: [(owner: Owner, members: ArraySlice<Element>)] = []
        var start = startIndex
        while start < endIndex {
            let first = owner(self[start])
            let end = self[start...].firstIndex { owner($0) !== first } ?? endIndex
            groups.append((first, self[start..<end]))
            start = end
        }
        return groups
    }
}
