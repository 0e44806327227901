/// The answers of a run to a census. On the way to a test's failure: cost does not matter here.
extension ManagedRun: CensusMember {
    package var censusState: CensusState {
        var state = CensusState()
        let isRetired = isRetired
        state.isInFlight = !isRetired && lifecycle.phase != .created
        state.isOver = isRetired
        state.text = "\(template.method.rawValue) \(template.url.handle == nil ? "(malformed URL)" : template.url.description), \(status)"
        if lifecycle.goesOn { state.text += ", detached: its transfer goes on" }
        if agent.liveRuns().contains(where: { $0 === self }) { state.tables.append("its agent") }
        let bags = [bag].compactMap { $0 } + (ifExtras { $0.bags } ?? [])
        for bag in bags where bag.isHolding(self) { state.tables.append("the bag of \(bag.label)") }
        state.handles = ticket?.handleCount ?? 0
        state.closures = heldClosures + ((ifExtras { $0.hooks?.table.origins } ?? nil) ?? [])
        state.holds = [session.ticket?.number].compactMap { $0 }
        state.ending = censusEnding
        return state
    }

    var censusEnding: CensusEnding? {
        switch lifecycle.phase {
        case .created: .neverStarted
        case .ended: .ended
        case .cancelled: .cancelled(reason)
        case .open, .calling, .cancelRequested, .ending, .silenced: nil
        }
    }
}

extension BagStorage {
    fileprivate func isHolding(_ member: ScopeMember) -> Bool { members().contains { $0.isOf(member) } }
}

extension RunHandlers {
    /// The closures by kind and place.
    package var origins: [String] {
        var origins: [String] = []
        func add<Payload>(_ name: String, _ list: HandlerList<Payload>) { list.forEach { origins.append("\(name) at \($0.origin)") } }
        add("onSuccess", success)
        add("onFailure", failure)
        add("onCached", cached)
        add("onResponseHead", head)
        add("onUploadProgress", sent)
        add("onDownloadProgress", received)
        add("onEnd", end)
        origins += hooks?.table.origins ?? []
        if resolve != nil { origins.append("a task that awaits it") }
        return origins
    }
}
