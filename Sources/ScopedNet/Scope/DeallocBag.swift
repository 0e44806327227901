import SystemSupport

/// Ends requests with their owner.
///
/// Store one in whatever shall be the scope: a view model, a page, a daemon's job, or a property of one. When the bag deinits
/// (or at ``end(_:)``) every request still alive in it is cancelled: waiting, transferring, retrying, decoding, about to be delivered. Nothing of
/// them is called from then on, except an `onEnd` that is not bound to the dying owner. The bag keeps neither its requests' handles nor
/// its owner alive. A request leaves the bag by itself when it ends, so a bag that lives for a year stays small.
///
/// ```swift
/// @MainActor final class FeedModel: RequestOwner {
///     nonisolated let deallocBag = DeallocBag()          // first property
///     func load() { session.get("feed", as: Feed.self).start(for: self) { model, result in model.show(result) } }
/// }
/// ```
///
/// Any thread may use it. Nothing here blocks, and nothing is called while a lock is held.
public final class DeallocBag: Sendable {
    package let storage: BagStorage
    private let link: ChildLink?
    private let ticket = Census.ticket()
    /// What events and the census call this bag.
    public var label: String { storage.label }

    /// Makes an empty bag. The label names the scope in the census and in events; by default it is the file and line where the bag was
    /// made.
    public convenience init(label: String? = nil, fileID: StaticString = #fileID, line: Int = #line) {
        self.init(storage: BagStorage(label: label ?? "\(fileID):\(line)"), link: nil, origin: CodeOrigin(fileID, line))
    }

    /// Makes the bag of an operation, which ends it.
    convenience init(storage: BagStorage, origin: CodeOrigin) { self.init(storage: storage, link: nil, origin: origin) }

    private init(storage: BagStorage, link: ChildLink?, origin: CodeOrigin) {
        self.storage = storage
        self.link = link
        LiveObjects.born(.bag)
        if let ticket { ticket.watch(self, .bag, origin: origin.description, name: storage.label) }
    }

    deinit {
        _ = storage.end(.ownerReleased)
        link?.leaveBag()
        LiveObjects.died(.bag)
    }

    /// Members alive right now.
    public var count: Int { storage.count }

    /// True after ``end(_:)``, also of a parent. Final.
    public var isEnded: Bool { storage.isClosed }

    /// Cancels what is inside now. The bag can be used again.
    @discardableResult
    public func cancelAll() -> DeallocBag.CancelSummary { storage.cancelAll(.explicit) }

    /// Does now what the deinit would do. Whatever is inserted later is cancelled at once and sends no byte.
    @discardableResult
    public func end(_ reason: CancelReason = .ownerReleased) -> DeallocBag.CancelSummary { storage.end(reason) }

    /// A bag that ends with this one, or earlier by itself.
    public func child(label: String? = nil, fileID: StaticString = #fileID, line: Int = #line) -> DeallocBag {
        Self.child(of: storage, label: label, fileID, line)
    }

    private static func child(of parent: BagStorage, label: String?, _ fileID: StaticString, _ line: Int) -> DeallocBag {
        let storage = BagStorage(label: label ?? "\(fileID):\(line)", parent: parent)
        let link = ChildLink(storage)
        if !parent.insert(link) { _ = storage.end(parent.endReason ?? .ownerReleased) }
        return DeallocBag(storage: storage, link: link, origin: CodeOrigin(fileID, line))
    }

    /// Makes a bag that ends with that of the task this is called in (``task(priority:_:)``), or earlier by itself, and has its label; nil where the
    /// task has none.
    public static func childOfTask(fileID: StaticString = #fileID, line: Int = #line) -> DeallocBag? {
        TaskScope.bag.map { child(of: $0, label: $0.label, fileID, line) }
    }

    /// Holds anything with a cancel method, strongly, until it is removed or the bag ends.
    ///
    /// - Returns: a token to take it out again. In an ended bag the item is cancelled at once.
    @discardableResult
    public func insert(_ item: some Cancellable) -> DeallocBag.Token {
        let member = ForeignMember(item)
        if !storage.insert(member) { item.cancel() }
        return DeallocBag.Token(member: member)
    }

    /// Runs a task that is cancelled with the bag and leaves it when it is done.
    ///
    /// Requests awaited in it without a bag of their own belong to this one: they end with it, for the same reason, and show its label in
    /// events. That holds for child tasks and for a `Task { }` made in it, too; `Task.detached` is on its own.
    ///
    /// Capture what the task needs, not the bag or its owner: a task that holds them keeps them alive.
    @discardableResult
    public func task(
        priority: TaskPriority? = nil, @_inheritActorContext _ work: sending @escaping @isolated(any) () async -> Void
    ) -> Task<Void, Never> {
        let member = TaskMember()
        let task = Task(priority: priority) { [storage] in
            await TaskScope.$bag.withValue(storage) { await work() }
            member.finish()
        }
        member.adopt(task)
        if !storage.insert(member) { task.cancel() }
        return task
    }
}

extension DeallocBag: CensusMember {
    package var censusState: CensusState {
        var state = CensusState()
        state.isOver = isEnded
        state.text = "\(count) members\(isEnded ? ", ended" : "")"
        return state
    }
}

extension DeallocBag {
    /// Takes a foreign item out of its bag again. Dropping the token leaves the item in.
    public struct Token: Sendable {
        fileprivate let member: ForeignMember

        /// The bag lets go of the item without cancelling it. Idempotent.
        public func remove() { member.remove() }
    }
}

/// A foreign item in a bag.
private final class ForeignMember: ScopeMember, @unchecked Sendable {
    // Safety: as the base class; the item is behind its own lock.
    private let item: Lock<(any Cancellable)?>

    init(_ item: any Cancellable) {
        self.item = Lock(item)
        super.init()
    }

    func remove() {
        leaveBag()
        _ = take()
    }

    private func take() -> (any Cancellable)? {
        item.withLock { item in
            defer { item = nil }
            return item
        }
    }

    override func closeGate(_ reason: CancelReason) -> (result: CancelOutcome, aftermath: Aftermath) { (.cancelled, .tearDown) }
    override func tearDown(_ reason: CancelReason) { take()?.cancel() }
}

/// A task in a bag.
private final class TaskMember: ScopeMember, @unchecked Sendable {
    // Safety: as the base class; the task is behind its own lock.
    private let task = Lock<Task<Void, Never>?>(nil)

    override var ending: (@Sendable () async -> Void)? {
        // Between `adopt` and the list there is none for a moment.
        guard let task = task.withLock({ $0 }) else { return { await Task.yield() } }
        return { await task.value }
    }

    func adopt(_ task: Task<Void, Never>) { self.task.withLock { $0 = task } }

    func finish() {
        leaveBag()
        _ = take()
    }

    private func take() -> Task<Void, Never>? {
        task.withLock { task in
            defer { task = nil }
            return task
        }
    }

    override func closeGate(_ reason: CancelReason) -> (result: CancelOutcome, aftermath: Aftermath) { (.cancelled, .tearDown) }
    override func tearDown(_ reason: CancelReason) { take()?.cancel() }
}

/// A child bag in its parent.
private final class ChildLink: ScopeMember, @unchecked Sendable {
    // Safety: as the base class; the storage is Sendable.
    private let storage: BagStorage

    init(_ storage: BagStorage) {
        self.storage = storage
        super.init()
    }

    override var asBag: BagStorage? { storage }
    // The child's gate is the parent's too (`BagStorage.isClosed` asks upwards), so it is closed already.
    override func closeGate(_ reason: CancelReason) -> (result: CancelOutcome, aftermath: Aftermath) { (.cancelled, .tearDown) }
    override func tearDown(_ reason: CancelReason) { _ = storage.end(reason) }
}
