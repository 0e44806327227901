import Foundation
import ScopedNet
import ScopedNetTesting
import Synchronization

/// The natural code: it goes when it is let go.
final class TidyModel: RequestOwner, Sendable {
    let deallocBag = DeallocBag(label: "TidyModel")
    let session: Session
    init(_ session: Session) { self.session = session }

    func load() {
        session.request("http://h/tidy").onSuccess(for: self) { _, _ in }.start(for: self)
    }
}

/// Its closure captures it: it lives until the request ends.
final class ClingingModel: RequestOwner, Sendable {
    let deallocBag = DeallocBag(label: "ClingingModel")
    let session: Session
    let count = Atomic<Int>(0)
    init(_ session: Session) { self.session = session }

    func load() {
        session.request("http://h/clinging").onSuccess { _ in self.count.add(1, ordering: .relaxed) }.start(for: self)
    }
}

/// Starts without a bag: its requests outlive it.
final class CarelessModel: Sendable {
    let session: Session
    init(_ session: Session) { self.session = session }

    func load() {
        session.request("http://h/careless").onSuccess(for: self) { _, _ in }.start()
    }
}

func mockedSession(
    _ transport: MockTransport = MockTransport(unanswered: .wait), _ change: (inout Session.Configuration) -> Void = { _ in }
) -> Session {
    var configuration = Session.Configuration(customTransport: transport, agent: RequestAgent())
    change(&configuration)
    return Session(configuration: configuration)
}

/// Holds on to what a test shall leak, until the test lets go.
final class Attic: Sendable {
    private let things = Mutex<[any Sendable]>([])
    func keep(_ thing: any Sendable) { things.withLock { $0.append(thing) } }
    var all: [any Sendable] { things.withLock { $0 } }

    func clear() {
        let things = things.withLock { things in
            defer { things = [] }
            return things
        }
        _ = things
    }
}

extension Attic {
    var requests: [Request<Data>] { all.compactMap { $0 as? Request<Data> } }
    var sessions: [Session] { all.compactMap { $0 as? Session } }
    func cancelTasks() { for task in all.compactMap({ $0 as? Task<Data?, Never> }) { task.cancel() } }
}
