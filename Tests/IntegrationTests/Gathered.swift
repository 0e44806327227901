import ScopedNet
import Synchronization

/// What closures on other threads have told, in their order.
final class Gathered<Element: Sendable>: Sendable {
    private let list = Mutex<[Element]>([])
    func add(_ element: Element) { list.withLock { $0.append(element) } }
    var all: [Element] { list.withLock { $0 } }
}

/// How challenges were answered: the scheme, or nil where the refusal was the result.
final class Answers: RequestObserver {
    private let schemes = Gathered<String?>()
    var all: [String?] { schemes.all }

    func observe(_ event: RequestEvent) {
        if case .challenged(_, _, let answer) = event.kind { schemes.add(answer) }
    }
}
