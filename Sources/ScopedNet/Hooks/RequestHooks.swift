public import FoundationEssentials

/// Closures that decide for every run with these options: defaults of a session through ``Session/Configuration/options``, or of one request.
///
/// They live as long as the options: what they capture does, too, so capture no owner here. Hooks of one start belong on the request
/// (``Request/decideRedirect`` and its like); those go first, and are destroyed when their run ends. <doc:Hooks> has the
/// order.
///
/// A closure runs on its own actor, if it has one, else on the concurrency runtime; never on the network thread, never under a lock. One that
/// throws fails the run, with its own error where that is a ``NetworkError``, else with `hookFailed`. While it decides the run waits, within
/// ``Timeouts/total``. A cancel does not wait: the closure's task is cancelled and its answer dropped.
public struct RequestHooks: Sendable {
    /// Nil for most: one word in the options.
    package private(set) var box: HookBox?

    /// Makes options without a hook.
    public init() {}

    /// Asked before each redirect that the ``RedirectPolicy`` follows, stored ones too. Nil: it is followed. Default: nil.
    public var redirect: (@Sendable @isolated(any) (RequestHooks.RedirectProposal) async throws -> RedirectPolicy.Answer)? {
        get { closure(box?.table.redirect) }
        set { change { $0.redirect = newValue.map { Hook($0, origin: Self.origin) } } }
    }

    /// Asked when an accepted response has come over the network, before its body is read. Nil: the body is read. Default: nil.
    public var disposition: (@Sendable @isolated(any) (RequestHooks.IncomingResponse) async throws -> RequestHooks.Disposition)? {
        get { closure(box?.table.disposition) }
        set { change { $0.disposition = newValue.map { Hook($0, origin: Self.origin) } } }
    }

    /// Asked where the file of a download goes, when its response is accepted and before the first byte is written; of a stored response, too.
    /// Answers a file URL; one that ends with a slash is a folder. Nil: where the download was told to go. Default: nil.
    public var destination: (@Sendable @isolated(any) (RequestHooks.IncomingDownload) async throws -> URL)? {
        get { closure(box?.table.destination) }
        set { change { $0.destination = newValue.map { Hook($0, origin: Self.origin) } } }
    }

    /// Asked for another body where one that can be read once has to be sent again. Nil, or the answer nil: the redirect fails with
    /// `bodyNotReplayable`, the retry is not made. Default: nil.
    public var newBody: (@Sendable @isolated(any) (RequestHooks.BodyReplayRequest) async throws -> RequestBody?)? {
        get { closure(box?.table.newBody) }
        set { change { $0.newBody = newValue.map { Hook($0, origin: Self.origin) } } }
    }

    /// Asked about each attempt that failed and could be made again, whatever the ``RetryPolicy`` decided. Nil: as that decided. Default: nil.
    public var retry: (@Sendable @isolated(any) (RequestHooks.RetryProposal) async throws -> RequestHooks.RetryAnswer)? {
        get { closure(box?.table.retry) }
        set { change { $0.retry = newValue.map { Hook($0, origin: Self.origin) } } }
    }

    /// Asked with the decoded value before a response is stored: false keeps it out, such as an API's error with a status of 200. Called on a
    /// work thread, for a refresh beside a stale response too; not called once the run is cancelled. Nil, the default: it is stored.
    public var shouldCache: (@Sendable (any Sendable, ResponseHead) -> Bool)? {
        get { box?.table.shouldCache }
        set { change { $0.shouldCache = newValue } }
    }

    private static var origin: CodeOrigin { CodeOrigin("the options", 0) }

    private mutating func change(_ change: (inout HookTable) -> Void) { box = HookBox.changing(box, change) }

    private func closure<Question, Answer>(
        _ hook: Hook<Question, Answer>?
    ) -> (@Sendable @isolated(any) (Question) async throws -> Answer)? {
        guard let hook else { return nil }
        return { question in
            switch await hook.ask(question, admit: { true }) {
            case .success(let answer?): return answer
            // A closure of the options has no owner that could be gone.
            case .success(nil): throw CancellationError()
            case .failure(let error): throw error
            }
        }
    }
}
