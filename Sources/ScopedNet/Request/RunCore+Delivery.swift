/// On the delivery executor.
extension RunCore {
    func deliver(_ delivery: Delivery) {
        guard let ticket else { return say(delivery) }
        // What its callbacks make belongs to its census.
        ticket.listening { say(delivery) }
    }

    private func say(_ delivery: Delivery) {
        switch delivery {
        case .events: pump()
        case .ending: sayEnding()
        case .cancelled: sayCancelled()
        }
    }

    private func sayEnding() {
        StepDoor.pass(.delivering, id)
        deliverEnding()
    }

    private func sayCancelled() {
        StepDoor.pass(.delivering, id)
        deliverCancelled()
    }

    /// Says what has gathered, in order, until nothing is left or an entry has to continue elsewhere (it calls this again).
    func pump() {
        while let entry = feed?.next() {
            switch entry {
            case .observed(let event): feed?.observers.forEach { $0.observe(event) }
            case .ending: sayEnding()
            case .cancelled: sayCancelled()
            case .start, .head, .sent, .received, .cached:
                // Bytes still arrive until the socket is closed; a cancelled run no longer tells of them.
                if mayGoOn, let feed {
                    if case .sent(let progress) = entry { feed.tellObservers(.sent(progress)) }
                    if case .received(let progress) = entry { feed.tellObservers(.received(progress)) }
                }
                guard deliverEvent(entry) == .done else { return }
            }
        }
    }

    enum EventOutcome {
        case done
        /// The calls go on in other places; `pump` is called again when they are through.
        case continues
    }
}
