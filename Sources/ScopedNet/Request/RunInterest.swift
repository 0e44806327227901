/// Which events somebody listens to.
struct RunInterest: OptionSet, Sendable {
    let rawValue: UInt8
    static let head = RunInterest(rawValue: 1)
    static let sent = RunInterest(rawValue: 2)
    static let received = RunInterest(rawValue: 4)
    static let cached = RunInterest(rawValue: 8)
    static let everything = RunInterest(rawValue: 255)

    init(rawValue: UInt8) { self.rawValue = rawValue }

    init(_ handlers: borrowing RunHandlers) {
        self = handlers.delegate != nil ? .everything : []
        if !handlers.head.isEmpty { insert(.head) }
        if !handlers.sent.isEmpty { insert(.sent) }
        if !handlers.received.isEmpty { insert(.received) }
        if !handlers.cached.isEmpty { insert(.cached) }
    }

    func includes(_ entry: EventFeed.Entry) -> Bool {
        switch entry {
        case .start: self == .everything
        case .head: contains(.head)
        case .sent: contains(.sent)
        case .received: contains(.received)
        case .cached: contains(.cached)
        case .observed, .ending, .cancelled: false
        }
    }
}
