/// A deciding closure, and how it is asked: where it was written, and only where a last look just before it allows that.
package struct Hook<Question: Sendable, Answer: Sendable>: Sendable {
    /// Nil: the closure was not called, because its owner is gone or `admit` refused.
    private let call: @Sendable (Question, _ admit: @escaping @Sendable () -> Bool) async throws -> Answer?
    package let origin: CodeOrigin

    package init(_ body: @escaping @Sendable @isolated(any) (Question) async throws -> Answer, origin: CodeOrigin) {
        self.origin = origin
        call = { question, admit in try await Self.call(body, question, admit, on: body.isolation) }
    }

    package init<Owner: AnyObject & Sendable>(
        owner: Owner, _ body: @escaping @Sendable @isolated(any) (Owner, Question) async throws -> Answer, origin: CodeOrigin
    ) {
        self.origin = origin
        let reference = WeakReference(owner)
        call = { question, admit in try await Self.call(body, reference, question, admit, on: body.isolation) }
    }

    /// An owner that is tied to the actor its closure was written on.
    package init<Owner: AnyObject>(
        owner: Owner, isolation: any Actor, _ body: @escaping (Owner, Question) async throws -> Answer,
        origin: CodeOrigin
    ) {
        self.origin = origin
        let closure = ActorBoundClosure(body, owner: owner, isolation: isolation)
        call = { question, admit in
            guard let actor = closure.actor else { return nil }
            return try await Self.call(closure, question, admit, on: actor)
        }
    }

    package init<Owner: Actor>(
        actor owner: Owner, _ body: @escaping @Sendable (isolated Owner, Question) async throws -> Answer, origin: CodeOrigin
    ) {
        self.origin = origin
        let reference = WeakReference(owner)
        call = { question, admit in
            guard let owner = reference.object else { return nil }
            return try await Self.call(body, question, admit, in: owner)
        }
    }

    /// Asks the closure; nil when it was not called. `admit` is called where the closure runs, just before it: a cancel on that actor is
    /// seen (G4).
    func ask(_ question: Question, admit: @escaping @Sendable () -> Bool) async -> Result<Answer?, any Error> {
        do { return .success(try await call(question, admit)) } catch { return .failure(error) }
    }

    // On the closure's own actor already, so that no hop comes between the look and the call.

    private static func call(
        _ body: @Sendable @isolated(any) (Question) async throws -> Answer, _ question: Question, _ admit: @Sendable () -> Bool,
        on actor: isolated (any Actor)?
    ) async throws -> Answer? {
        guard admit() else { return nil }
        return try await body(question)
    }

    private static func call<Owner: AnyObject & Sendable>(
        _ body: @Sendable @isolated(any) (Owner, Question) async throws -> Answer, _ reference: WeakReference<Owner>, _ question: Question,
        _ admit: @Sendable () -> Bool, on actor: isolated (any Actor)?
    ) async throws -> Answer? {
        guard let owner = reference.object, admit() else { return nil }
        return try await body(owner, question)
    }

    private static func call<Owner: AnyObject>(
        _ closure: ActorBoundClosure<Owner, (Owner, Question) async throws -> Answer>, _ question: Question,
        _ admit: @Sendable () -> Bool, on actor: isolated any Actor
    ) async throws -> Answer? {
        guard let (owner, body) = closure.borrow(), admit() else { return nil }
        return try await body(owner, question)
    }

    private static func call<Owner: Actor>(
        _ body: @Sendable (isolated Owner, Question) async throws -> Answer, _ question: Question, _ admit: @Sendable () -> Bool,
        in owner: isolated Owner
    ) async throws -> Answer? {
        guard admit() else { return nil }
        return try await body(owner, question)
    }
}
