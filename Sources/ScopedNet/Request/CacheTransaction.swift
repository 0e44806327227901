import FoundationEssentials
import Glibc
import HTTPTypes
import Persistence

/// One exchange that goes through the cache to the server: what was found, what is sent because of it, and what follows from the server's head,
/// from its end, and from an error in its place. It decides and stores; its run does the rest, and it knows no run.
final class CacheTransaction: @unchecked Sendable {
    // Safety: belongs to one run and is handed from stage to stage with it.
    let cache: ResponseCache
    let key: CacheKey
    let found: CacheLookupResult
    private(set) var forward: CacheForward
    /// The server has seen the request already, in another form.
    private(set) var isRepeated = false
    /// From before the request was sent: what is invalidated since keeps its response out.
    private var ticket: PutTicket?
    /// When the request that is under way was sent.
    var sentAt: WallTime
    /// Known when the server's head has come.
    var outcome: CacheOutcome?
    /// The caller has been given the stored response already; this only refreshes it.
    let isRefresh: Bool

    init(_ cache: ResponseCache, _ key: CacheKey, _ found: CacheLookupResult, _ forward: CacheForward, isRefresh: Bool = false) {
        self.cache = cache
        self.key = key
        self.found = found
        ticket = found.ticket
        self.forward = forward
        self.isRefresh = isRefresh
        sentAt = cache.clock()
    }

    /// Another request takes the place of the one whose response was of no use. May block, as a shared store asks the disk.
    func begin(_ forward: CacheForward) {
        self.forward = forward
        isRepeated = true
        outcome = nil
        // It was this request itself that has just thrown something away.
        ticket = cache.store.ticket()
    }

    /// Decides what becomes of the response. Nothing is stored yet.
    func received(_ head: ResponseHead) -> CacheOutcome {
        let now = cache.clock()
        let plain = forward.received(plain: head, requestTime: sentAt, responseTime: now)
        let outcome = plain ?? forward.received(CacheHead(head), requestTime: sentAt, responseTime: now)
        self.outcome = outcome
        return outcome
    }

    // MARK: The head

    enum HeadStep {
        /// The response goes to its caller as it comes.
        case pass
        /// None of its bytes is wanted: a stored response stands, or something else is sent.
        case discard
        /// It is the rest of a stored beginning, and kept until both are put together.
        case join
    }

    /// Network thread: what becomes of the response whose head has come. What it says is wrong is gone for everybody from here on, as its body may
    /// break off, and its owner may go.
    func receive(_ head: ResponseHead) -> HeadStep {
        let outcome = received(head)
        invalidate()
        return switch outcome.answer {
        case .stored, .again: .discard
        case .joined: .join
        case .received: .pass
        }
    }

    /// The same for a body that a reader has while it arrives: all that the cache has to learn is in the head.
    ///
    /// Where the response is not accepted, another attempt may follow, whose head says something new.
    func receive(streamed head: ResponseHead, isAccepted: Bool) -> ResponseCache.Status {
        let status = received(head).status
        invalidate()
        applyChanges()
        if !isAccepted { outcome = nil }
        return status
    }

    // MARK: The end

    enum EndStep {
        /// The server's response stands.
        case stand
        case serve(CachedAnswer, isValidated: Bool)
        /// The response was of no use, and this is to be sent in its place.
        case again(CacheForward)
        /// The body that came, and what is stored, are one.
        case join(CacheHead, [BodyPiece])
    }

    /// Once the exchange has ended with a response.
    var endStep: EndStep {
        switch outcome?.answer {
        case .received, nil: .stand
        // An error that a stale response takes the place of says nothing about it.
        case .stored(let answer): .serve(answer, isValidated: outcome?.storage.reason != .staleIsBetter)
        case .again(let forward): .again(forward)
        case .joined(let head, let pieces): .join(head, pieces)
        }
    }

    enum FailureStep {
        /// The error stands.
        case fail
        case serve(CachedAnswer)
        /// A 504 made here.
        case unavailable(CacheHead, ResponseCache.Status)
    }

    /// No response came, and nothing is tried again.
    func failed(_ error: NetworkError) -> FailureStep {
        guard outcome == nil, !isRefresh, error.leavesRoomForTheCache else { return .fail }
        return switch forward.failed(now: cache.clock()) {
        case .fail: .fail
        case .stored(let answer): .serve(answer)
        case .unavailable(let head, let status): .unavailable(head, status)
        }
    }

    // MARK: What is stored

    /// Removes what the response to an unsafe request has made invalid. In memory; the disk follows.
    private func invalidate() {
        guard let invalidation = outcome?.invalidation else { return }
        outcome?.invalidation = nil
        // The target's key is that of the transaction.
        cache.remove(key)
        let cache = cache
        let removeReferenced: WorkPool.Job = { for key in invalidation.referencedKeys { cache.remove(key) } }
        // A key that the program makes is not made on the network thread.
        if invalidation.callsProgram { WorkPool.shared.submit([removeReferenced]) } else { removeReferenced() }
    }

    /// The store has to learn something besides a new response.
    var changesStored: Bool { outcome.map { !$0.removals.isEmpty || !$0.updates.isEmpty } ?? false }

    var stores: Bool {
        switch outcome?.storage {
        case .store, .plain: true
        case .refuse, nil: false
        }
    }

    /// Storing needs bodies that may be in files.
    var readsStoredBodies: Bool {
        if case .store(_, let pieces, _) = outcome?.storage { return pieces != [.received] }
        return false
    }

    /// The stored beginning cannot be read any more.
    func removeCompleted() {
        if let index = forward.completing { cache.store.remove(found.entries[index]) }
    }

    /// Removes the entries that are wrong, and refreshes those that are confirmed. In memory; the disk follows.
    func applyChanges() {
        guard let outcome else { return }
        let entryKey = cache.entryKey(key)
        for index in outcome.removals { cache.store.remove(entryKey, variant: found.entries[index].variant) }
        for update in outcome.updates {
            let response = update.response
            let horizon = response.horizon(forward.strategy.policy)
            cache.store.update(
                found.entries[update.candidate], metadata: response.encoded(), freshUntil: horizon.lastUse,
                isRevalidatable: horizon.canBeValidated)
        }
    }

    /// Stores the response whose body is complete, or the part of it that came before it broke off.
    ///
    /// `received` is the body as it came over the wire. Returns true when the store took it.
    @discardableResult
    func store(_ received: Data, isComplete: Bool, of head: ResponseHead?) -> Bool {
        if let isStored = storePlainly(.data(received), isComplete: isComplete, of: head) { return isStored }
        guard case .store(let pending, let pieces, let replaced) = outcome?.storage else { return false }
        let length = Int64(received.count)
        guard let response = isComplete ? pending.completed(bodyLength: length) : pending.interrupted(after: length) else { return false }
        let wanted = isComplete ? pieces : pieces.prefix { $0 != .received } + [.received]
        guard let body = joined(wanted, received) else { return false }
        return put(response, .data(body), replacing: replaced)
    }

    /// - Returns: nil when the rules have to do it.
    private func storePlainly(_ body: NewBody, isComplete: Bool, of head: ResponseHead?) -> Bool? {
        guard case .plain(let reply) = outcome?.storage else { return nil }
        guard isComplete else {
            // Seldom asked, and worked out only here: the part of a beginning that may be kept.
            guard let head else { return false }
            outcome = forward.received(CacheHead(head), requestTime: reply.requestTime, responseTime: reply.responseTime)
            return nil
        }
        guard let metadata = reply.encoded(bodyLength: Int64(body.length), strategy: forward.strategy) else { return false }
        return put(metadata, reply.horizon(forward.strategy.policy), body) == .accepted
    }

    /// True when a response whose body is in a file can be stored.
    var storesFile: Bool { stores && !readsStoredBodies && forward.strategy.policy.write.contains(.disk) }

    /// Stores a response whose body is in a file. Blocks for as long as the disks of both do. `mayGoOn` is asked before each piece, and when all
    /// are read; nothing is stored otherwise.
    func store(file descriptor: Int32, length: Int64, while mayGoOn: () -> Bool) {
        guard storesFile, let body = try? cache.store.copyBody(from: descriptor, length: length, while: mayGoOn) else { return }
        guard storePlainly(body, isComplete: true, of: nil) == nil else { return }
        guard case .store(let pending, [.received], let replaced) = outcome?.storage,
            let response = pending.completed(bodyLength: length)
        else { return }
        put(response, body, replacing: replaced)
    }

    @discardableResult
    private func put(_ response: StoredResponse, _ body: NewBody, replacing replaced: [Int]) -> Bool {
        // Unless the new one is kept, the old ones are better than nothing.
        guard put(response.encoded(), response.horizon(forward.strategy.policy), body) == .accepted else { return false }
        let entryKey = cache.entryKey(key)
        for index in forward.leaving(replaced, for: response) { cache.store.remove(entryKey, variant: found.entries[index].variant) }
        return true
    }

    @discardableResult
    private func put(_ metadata: Data, _ horizon: CacheHorizon, _ body: NewBody) -> PutOutcome {
        let entry = NewStoreEntry(
            key: cache.entryKey(key), variant: Self.newVariant(), metadata: metadata, body: body, freshUntil: horizon.lastUse,
            isRevalidatable: horizon.canBeValidated, placement: forward.strategy.policy.write.placement)
        return cache.store.put(entry, ticket: ticket)
    }

    /// Stored responses of one key are told apart by nothing but this.
    private static func newVariant() -> String { String(UInt64.random(in: .min ... .max), radix: 36) }

    /// Nil when a stored piece cannot be read any more.
    func joined(_ pieces: [BodyPiece], _ received: Data) -> Data? {
        var body = Data()
        if pieces == [.received] { return received }
        for piece in pieces {
            switch piece {
            case .received: body.append(received)
            case .stored(let candidate, let range):
                guard let stored = found.entries[candidate].bytes(range) else { return nil }
                body.append(stored)
            }
        }
        return body
    }
}

extension CachePolicy.WriteMode {
    fileprivate var placement: EntryPlacement {
        if !contains(.disk) { return .memory }
        return contains(.memory) ? .memoryAndDisk : .disk
    }
}

extension CacheHorizon {
    /// For eviction only: the rules decide anew when it is used.
    fileprivate var lastUse: Date {
        Date(timeIntervalSince1970: max(fresh, staleWhileRevalidate, staleIfError).secondsSince1970)
    }
}

extension StoreEntry {
    /// A part of the body; nil when it cannot be read any more, or not in time. Blocks where the body is a file.
    func bytes(_ range: Range<Int64>) -> Data? {
        guard range.lowerBound >= 0, range.upperBound <= Int64(body.length) else { return nil }
        let (lower, count) = (Int(range.lowerBound), Int(range.count))
        if let data = body.data { return data.dropFirst(lower).prefix(count) }
        guard let reader = try? body.makeBoundedReader() else { return nil }
        return try? reader.read(at: lower, upTo: count)
    }
}

extension Store {
    /// Copies a file into a body of the store, a piece at a time.
    fileprivate func copyBody(from descriptor: Int32, length: Int64, while mayGoOn: () -> Bool) throws -> NewBody? {
        let writer = makeBodyWriter()
        var piece = [UInt8](repeating: 0, count: 256 << 10)
        var count = 0
        while mayGoOn() {
            let read = piece.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
            if read < 0, errno == EINTR { continue }
            guard read > 0 else { break }
            count += read
            try piece.withUnsafeBytes { try writer.write(UnsafeRawBufferPointer(rebasing: $0[..<read])) }
        }
        // Another holder has changed it meanwhile, or may have.
        guard count == length, mayGoOn() else { return nil }
        return try writer.finish()
    }
}

extension NetworkError {
    /// No server could be reached, or it broke off before it said anything. A server that is not who it should be is no reason to go on
    /// with what it once said.
    fileprivate var leavesRoomForTheCache: Bool {
        switch code {
        case .connectivityTimeout, .nameNotResolved, .proxyNotResolved, .connectionRefused, .connectionFailed, .connectionLost,
            .proxyFailed,
            .connectTimeout, .firstByteTimeout, .idleTimeout, .queueTimeout, .totalTimeout:
            response == nil
        default: false
        }
    }
}

extension CacheHead {
    init(_ head: ResponseHead) { self.init(status: head.status, reason: head.reasonPhrase, fields: head.headers) }
}

extension ResponseHead {
    /// A stored head, as if it had come over the wire.
    init(_ head: CacheHead) {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(512)
        bytes.append(contentsOf: head.reason.utf8)
        let start = bytes.count
        var isCoded = false
        // Names are tokens and values hold no line ends: `HTTPFields` has no others.
        for field in head.fields {
            bytes.append(contentsOf: field.name.rawName.utf8)
            bytes.append(UInt8(ascii: ":"))
            field.withUnsafeBytesOfValue { bytes.append(contentsOf: $0) }
            bytes.append(UInt8(ascii: "\n"))
            isCoded = isCoded || field.name == .contentEncoding
        }
        self.init(bytes: bytes, fieldsStart: start, version: .http1_1, hasContentEncoding: isCoded, status: head.status)
    }
}
