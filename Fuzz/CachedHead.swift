import FoundationEssentials

@testable import ScopedNet

private let now = WallTime(secondsSince1970: 1_800_000_000.5)
private let strategy = CacheStrategy { "\($0.count)" }
private let request = CacheRequest(url: "http://example.test/a?b")

/// Response heads before the cache: what is read from the bytes alone is what the rules make of the fields, and what is stored is usable.
@Sendable func fuzzCachedHead(_ input: UnsafeRawBufferPointer) {
    var parser = ResponseHeadParser(limits: .init(headBytes: 8192, fields: 100))
    guard (try? parser.receive(Array("HTTP/1.1 200 OK\r\n".utf8) + input + Array("\r\n\r\n".utf8))) != nil, parser.isComplete else {
        return
    }
    let head = ResponseHead(parser)
    guard case .forward(let forward) = strategy.decide(request, candidates: [], now: now) else { return }
    let slow = forward.received(CacheHead(head), requestTime: now, responseTime: now + 0.25)
    if let fast = forward.received(plain: head, requestTime: now, responseTime: now + 0.25) {
        check(fast.status == slow.status, "\(fast.status) and \(slow.status)")
        compare(fast.storage, slow.storage)
    }
    guard case .store(let pending, _, _) = slow.storage else { return }
    let length: Int64
    if case .pending(.whole(let declared)) = pending.content { length = declared ?? 5 } else { length = 5 }
    if let stored = pending.completed(bodyLength: length) { use(stored) }
}

private func compare(_ fast: StorageDecision, _ slow: StorageDecision) {
    switch (fast, slow) {
    case (.refuse(let one), .refuse(let other)): check(one == other, "\(one) and \(other)")
    case (.plain(let reply), .store(let pending, [.received], [])):
        check(reply.horizon(strategy.policy) == pending.horizon(strategy.policy), "two horizons")
        let expected = pending.completed(bodyLength: 5)?.encoded()
        check(reply.encoded(bodyLength: 5, strategy: strategy) == expected, "two stored forms")
    default: check(false, "\(fast) and \(slow)")
    }
}

private func use(_ stored: StoredResponse) {
    for later in [-1e9, 0, 1, 3e9] {
        let freshness = Freshness(stored, now: now + later, policy: .standard)
        check(freshness.age >= 0 && freshness.age.isFinite && freshness.lifetime.isFinite, "\(freshness)")
        switch strategy.decide(request, candidates: [stored], now: now + later) {
        case .serve(let answer), .serveAndForward(let answer, _):
            let age = answer.head.fields[.age] ?? ""
            check(!age.isEmpty && age.utf8.allSatisfy { (0x30...0x39).contains($0) }, "an age of '\(age)'")
        case .forward, .unavailable: break
        }
    }
}
