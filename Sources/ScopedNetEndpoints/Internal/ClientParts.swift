/// Parts that features add to a client, one of each type, made when they are first asked for.
final class ClientParts: Sendable {
    private let parts = Lock<[ObjectIdentifier: any Sendable]>([:])

    func part<Part: Sendable>(_: Part.Type, _ make: () -> Part) -> Part {
        if let known = parts.withLock({ $0[ObjectIdentifier(Part.self)] }) as? Part { return known }
        let fresh = make()
        return parts.withLock { parts in
            if let other = parts[ObjectIdentifier(Part.self)] as? Part { return other }
            parts[ObjectIdentifier(Part.self)] = fresh
            return fresh
        }
    }
}
