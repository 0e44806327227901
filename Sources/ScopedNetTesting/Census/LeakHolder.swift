@_spi(Census) internal import ScopedNet

/// A live object or closure that keeps others alive, and the advice about it. (pure)
struct LeakHolder: Hashable, Sendable {
    /// The kinds, those first that explain most.
    enum Kind: Int, CaseIterable, Sendable {
        /// The owner is an observer or interceptor of a session.
        case observer
        /// A closure of a run, such as `onSuccess`.
        case closure
        /// A closure of a request that has not been started since it was registered.
        case armedClosure
        /// A closure that decides for a run, such as `decideRedirect`.
        case hook
        /// A task that awaits a run.
        case awaitingTask
        /// A task in a bag.
        case bagTask
        /// Anything else with a cancel method in a bag.
        case insertedItem
        /// A batch, chain, poll, picture or channel that is under way.
        case operation
        /// A body that is read while it arrives.
        case stream
        /// A session that the program holds.
        case session
        /// A run in flight that is in no bag.
        case unboundRun
        /// A handle of a run that has ended.
        case storedRun
        /// A handle of an operation that has ended.
        case storedOperation
        /// A request without closures.
        case storedRequest
        /// A bag with nothing but requests in it.
        case bag
    }

    let kind: Kind
    /// The registration of a closure.
    var name = "onSuccess"

    /// True if it may hold an owner; all others are held by one.
    var mayHoldAnOwner: Bool { kind.rawValue <= Kind.session.rawValue }

    /// One line: what is held, and the code to write instead.
    var advice: String {
        let steps = "deallocBag.task(for: self) { [session] in … } onSuccess: { owner, value in … }"
        return switch kind {
        case .observer: "A session holds its observers and interceptors: add an object of their own, which refers to the owner weakly."
        case .closure:
            "A closure holds what it captures until its run ends: take the owner as a parameter, as in \(name)(for: self) { owner, … in … }, "
                + "and do not name self in it."
        case .armedClosure:
            "A request holds the closures for its next start: start it or let go of it, and take the owner as a parameter, as in "
                + "\(name)(for: self) { owner, … in … }."
        case .hook:
            "A hook holds what it captures until its run ends: take the owner as a parameter, as in \(name)(for: self) { owner, … in … }."
        case .awaitingTask: "A task that awaits a run holds what it captures, and a method that awaits holds self: write \(steps)."
        case .bagTask: "A task of a bag holds what it captures until it ends: capture what its steps need, and not self, as in \(steps)."
        case .insertedItem: "A bag holds what insert(_:) put into it: let that refer to the owner weakly, or remove it with its token."
        case .operation:
            "An operation holds its callbacks until it ends: hand the owner to them, as in onSuccess(for: self) or Callback(for: self), and put "
                + "the operation into the owner's bag."
        case .stream:
            "A stream is held by the code that reads it: read it in deallocBag.task { [session] in … }, and store no StreamedResponse."
        case .session:
            "A session holds what onRequest and the closures of its configuration capture: let them refer to the owner weakly, and let the "
                + "session go with its last user."
        case .unboundRun: "A run that is in no bag goes on until it ends: start it with start(for: self) or start(in: bag)."
        case .storedRun: "A stored Run holds its result: set it to nil in onEnd, or store none, as the bag cancels without it."
        case .storedOperation:
            "A stored operation, call or receipt holds what it consists of: set it to nil when it has ended, or store none, as the bag cancels "
                + "without it."
        case .storedRequest: "A stored Request holds its session and its last run: let go of it, or make one for each start."
        case .bag: "A bag lives as long as its owner: look for the holder of that."
        }
    }

    /// The advice for all of them, a line for each kind.
    static func advice(about holders: [LeakHolder]) -> [String] {
        // A task of a bag that awaits a run is one holder, seen from both sides.
        let hasBagTask = holders.contains { $0.kind == .bagTask }
        var seen: Set<Kind> = hasBagTask ? [.awaitingTask] : []
        return holders.filter { seen.insert($0.kind).inserted }.sorted { $0.kind.rawValue < $1.kind.rawValue }.map(\.advice)
    }
}

extension LeakHolder {
    /// The holders that a live object stands for, by what it says of itself.
    ///
    /// - Parameters:
    ///   - kind: the kind of object.
    ///   - origin: where it was made or started.
    ///   - state: its answers.
    ///   - closures: the closures it holds, as `onSuccess at File.swift:12`.
    ///   - members: those of a bag.
    /// - Returns: none for an object that the library holds.
    static func found(
        _ kind: LeakReport.Kind, at origin: String, _ state: CensusState, _ closures: [String], _ members: BagMembers?
    ) -> [LeakHolder] {
        switch kind {
        case .run: ofRun(at: origin, state, closures)
        case .request: [closures.first.map { LeakHolder(kind: .armedClosure, name: name(of: $0)) } ?? LeakHolder(kind: .storedRequest)]
        case .operation: state.isInFlight ? [LeakHolder(kind: .operation)] : state.handles > 0 ? [LeakHolder(kind: .storedOperation)] : []
        case .bag: ofBag(members)
        case .session: [LeakHolder(kind: .session)]
        case .bodyStream: [LeakHolder(kind: .stream)]
        case .imageReceipt, .transport, .transfer, .easyHandle, .timer, .trustCheck, .imageBuffer: []
        }
    }

    private static func ofRun(at origin: String, _ state: CensusState, _ closures: [String]) -> [LeakHolder] {
        guard state.isInFlight else {
            return state.isOver && state.tables.isEmpty && state.handles > 0 ? [LeakHolder(kind: .storedRun)] : []
        }
        // All but "a task that awaits it" have a place. The library's own closure, that of a stream for its head, has the place of the start.
        let isAwaited = closures.contains { !$0.contains(" at ") }
        let places = closures.filter { $0.contains(" at ") && !(isAwaited && $0 == "onResponseHead at \(origin)") }
        // The transfer of a picture or an endpoint is its layer's: the operation above it is what the program holds.
        let layers = ["ScopedNetImages/", "ScopedNetEndpoints/"]
        if places.contains(where: { place in layers.contains { place.contains(" at \($0)") } }) { return [] }
        let holders = places.map { closure in
            let name = name(of: closure)
            return LeakHolder(kind: name.hasPrefix("on") ? .closure : .hook, name: name)
        }
        if isAwaited { return holders + [LeakHolder(kind: .awaitingTask)] }
        return state.tables.contains { $0.hasPrefix("the bag of ") } ? holders : holders + [LeakHolder(kind: .unboundRun)]
    }

    private static func ofBag(_ members: BagMembers?) -> [LeakHolder] {
        let kinds: [Kind] = (members?.hasTask == true ? [.bagTask] : []) + (members?.hasItem == true ? [.insertedItem] : [])
        return (kinds.isEmpty ? [.bag] : kinds).map { LeakHolder(kind: $0) }
    }

    /// `onSuccess` of `onSuccess at File.swift:12`.
    private static func name(of closure: String) -> String { String(closure.prefix { $0 != " " }) }
}

/// The members of a bag that are no requests.
struct BagMembers: Sendable {
    var hasTask = false
    var hasItem = false
}

extension BagMembers {
    /// Nil for what is no bag.
    init?(_ object: any CensusMember) {
        guard let bag = object as? DeallocBag else { return nil }
        for member in bag.storage.members() {
            // By their names: the classes are the bag's own.
            switch "\(type(of: member))" {
            case "TaskMember": hasTask = true
            case "ForeignMember": hasItem = true
            default: break
            }
        }
    }
}
