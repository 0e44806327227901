/// Which routes may decide an answer (pure): those that could be a default, and those that lead to certain addresses.
enum RouteInterests: Equatable {
    /// Too many addresses for a filter, or a kernel that takes none.
    case every
    case addresses(Set<IPAddress>)

    /// More make a filter that costs the kernel more than it saves.
    static let most = 64

    init(_ addresses: some Sequence<IPAddress>) {
        var distinct: Set<IPAddress> = []
        for address in addresses {
            distinct.insert(address)
            if distinct.count > Self.most {
                self = .every
                return
            }
        }
        self = .addresses(distinct)
    }

    /// Whether it asks for routes that the other leaves out.
    func wantsMore(than other: RouteInterests) -> Bool {
        switch (self, other) {
        case (_, .every): false
        case (.every, .addresses): true
        case (.addresses(let mine), .addresses(let theirs)): !mine.isSubset(of: theirs)
        }
    }
}
