/// The timers, path watches and hook calls that one run waits with. Each belongs to one wait, by its number, so that who comes late for one does not
/// take away what the next has set. (pure: cancels nothing)
struct WaitSet {
    enum Kind: UInt8, CaseIterable, Sendable {
        /// The time of the next attempt, or the longest time of the wait.
        case timer
        /// A path to the server, another run's answer, or the turn in a rate.
        case path
        /// The pause behind a path.
        case jitter
        /// A call of the program.
        case answer
        /// The longest time in the queue. No part of a wait, which it outlives.
        case queue
        /// The place in a rate, until the request is sent. No part of a wait, either.
        case permit
        /// The interceptors of the call, and those of the exchange, from the first to the end of the last. No parts of a wait, either.
        case call, exchange
        /// The reader of a body that arrives. No part of a wait, either.
        case reader

        fileprivate var isPartOfWait: Bool { rawValue < Self.queue.rawValue }
    }

    private struct Key: Hashable {
        let kind: Kind
        let number: UInt64
    }

    private var items: [Key: any Cancellable] = [:]

    var isEmpty: Bool { items.isEmpty }

    /// - Returns: the item that had its place, to be cancelled.
    @discardableResult
    mutating func set(_ item: any Cancellable, _ kind: Kind, of number: UInt64) -> (any Cancellable)? {
        items.updateValue(item, forKey: Key(kind: kind, number: number))
    }

    mutating func take(_ kind: Kind, of number: UInt64) -> (any Cancellable)? { items.removeValue(forKey: Key(kind: kind, number: number)) }

    func item(_ kind: Kind, of number: UInt64) -> (any Cancellable)? { items[Key(kind: kind, number: number)] }

    func all(_ kind: Kind) -> [any Cancellable] { items.filter { $0.key.kind == kind }.map(\.value) }

    mutating func takeAll(_ kind: Kind) -> [any Cancellable] {
        let taken = all(kind)
        items = items.filter { $0.key.kind != kind }
        return taken
    }

    /// All that one wait has.
    mutating func takeWait(_ number: UInt64) -> [any Cancellable] {
        items.isEmpty ? [] : Kind.allCases.compactMap { $0.isPartOfWait ? take($0, of: number) : nil }
    }

    mutating func takeAll() -> [any Cancellable] {
        defer { items = [:] }
        return Array(items.values)
    }
}
