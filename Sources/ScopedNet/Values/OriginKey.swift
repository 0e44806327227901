import SystemSupport

/// A small number for an origin, the same for all URLs of it that are alive: what queues look hosts up by.
///
/// Forgotten with the last URL, so that a program which visits a million hosts keeps none of them.
final class OriginKey: Sendable {
    let id: UInt32
    private let origin: RequestURL.Origin?

    /// Of a URL that is malformed.
    static let none = OriginKey(id: .max, origin: nil)

    private struct Table {
        var keys: [RequestURL.Origin: Entry] = [:]
        var last: UInt32 = 0
    }

    private struct Entry {
        let id: UInt32
        weak var key: OriginKey?
    }

    private static let table = Lock(Table())

    /// For the test that nothing is kept.
    static var count: Int { table.withLock { $0.keys.count } }

    private init(id: UInt32, origin: RequestURL.Origin?) {
        self.id = id
        self.origin = origin
    }

    static func of(_ origin: RequestURL.Origin) -> OriginKey {
        table.withLock { table in
            if let known = table.keys[origin]?.key { return known }
            // Past four thousand million origins numbers come again, long after their first owners.
            table.last &+= 1
            let key = OriginKey(id: table.last, origin: origin)
            table.keys[origin] = Entry(id: key.id, key: key)
            return key
        }
    }

    deinit {
        guard let origin else { return }
        // A new key may have taken the place between the last release and now.
        Self.table.withLock { table in
            if table.keys[origin]?.id == id { table.keys[origin] = nil }
        }
    }
}
