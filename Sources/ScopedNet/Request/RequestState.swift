/// The state of a request between its starts. Not nested: it does not depend on the type of the value. (pure)
struct RequestState: ~Copyable {
    private(set) var description: RequestDescription
    /// Made at the first start and after each change; runs share it.
    private(set) var template: RequestTemplate?
    /// The closures of the next start.
    var armed = RunHandlers()
    /// The delegate of all later starts.
    var delegate: DelegateReference?
    private(set) var token: HandleToken?
    /// The latest run.
    private(set) var last: RunDriver?

    init(description: RequestDescription) { self.description = description }

    /// Replaces the description. The caller gets the old one, and lets go of it outside the lock: it may hold the caller's objects.
    mutating func replaceDescription(by other: inout RequestDescription) {
        swap(&description, &other)
        template = nil
    }

    /// Moves the armed closures to a start: the next one has none of them.
    mutating func takeHandlers() -> RunHandlers {
        var handlers = armed.take()
        if let delegate { handlers.delegate = delegate }
        return handlers
    }

    /// Returns the token that all handles share; the first call sets it.
    mutating func token(orElse fresh: HandleToken) -> HandleToken {
        if let token { return token }
        token = fresh
        return fresh
    }

    /// Keeps the template for later starts, unless the description was changed since it was read.
    mutating func keep(_ template: RequestTemplate, of description: RequestDescription) {
        if self.description.isSame(as: description) { self.template = template }
    }

    /// Sets the latest run. The caller gets the one before it, and lets go of it outside the lock.
    mutating func replaceRun(by other: inout RunDriver?) { swap(&last, &other) }
}
