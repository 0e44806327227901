public import FoundationEssentials

/// Closures that decide. Each arms the *next* start and is destroyed when that run ends; setting one a second time replaces it. It goes before
/// the one of the options (``RequestHooks``), which is then not asked.
///
/// `for:` hands the owner to the closure and holds it weakly until then. Once the owner's deinit has begun the closure is skipped, and what
/// happens is what happens without one. The owner is an actor, a `Sendable` class, or any class in code that runs on an actor, which then
/// runs the closure, too. While it decides, the owner is held. Closures run on the actor where they are written, or inside the
/// owner when that is an actor, else on the concurrency runtime; never on the network thread, never under a lock.
///
/// After a cancel on the closure's own actor it is not called any more. Elsewhere one that has begun is not waited for: its task is cancelled,
/// and its answer dropped. What it throws fails the run: a ``NetworkError`` as it is, all else as the `underlying` of `hookFailed`.
extension Request {
    // MARK: Redirects

    /// Decides about each redirect that the ``RedirectPolicy`` follows, one after the other. See ``RedirectPolicy/Answer``.
    public func decideRedirect(
        fileID: StaticString = #fileID, line: Int = #line,
        @_inheritActorContext _ body:
            @escaping @Sendable @isolated(any) (RequestHooks.RedirectProposal) async throws -> RedirectPolicy.Answer
    ) -> Self {
        arm(Hook(body, origin: CodeOrigin(fileID, line))) { $0.redirect = $1 }
    }

    /// Decides about each redirect, with an owner held weakly: once it has gone, redirects are followed as proposed.
    public func decideRedirect<Owner: AnyObject & Sendable>(
        for owner: Owner, fileID: StaticString = #fileID, line: Int = #line,
        @_inheritActorContext _ body:
            @escaping @Sendable @isolated(any) (Owner, RequestHooks.RedirectProposal) async throws -> RedirectPolicy.Answer
    ) -> Self {
        arm(Hook(owner: owner, body, origin: CodeOrigin(fileID, line))) { $0.redirect = $1 }
    }

    /// Decides about each redirect, on the actor of the code that sets it, with an owner of any class held weakly.
    public func decideRedirect<Owner: AnyObject>(
        for owner: Owner, isolation: isolated any Actor = #isolation, fileID: StaticString = #fileID, line: Int = #line,
        _ body: @escaping (Owner, RequestHooks.RedirectProposal) async throws -> RedirectPolicy.Answer
    ) -> Self {
        arm(Hook(owner: owner, isolation: isolation, body, origin: CodeOrigin(fileID, line))) { $0.redirect = $1 }
    }

    /// Decides about each redirect inside an actor, which is held weakly.
    public func decideRedirect<Owner: Actor>(
        for owner: Owner, fileID: StaticString = #fileID, line: Int = #line,
        _ body: @escaping @Sendable (isolated Owner, RequestHooks.RedirectProposal) async throws -> RedirectPolicy.Answer
    ) -> Self {
        arm(Hook(actor: owner, body, origin: CodeOrigin(fileID, line))) { $0.redirect = $1 }
    }

    // MARK: Bodies that can be read once

    /// Gives another body where one that can be read once has to be sent again. With nil a redirect fails with `bodyNotReplayable`, and a retry
    /// is not made.
    public func provideBody(
        fileID: StaticString = #fileID, line: Int = #line,
        @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (RequestHooks.BodyReplayRequest) async throws -> RequestBody?
    ) -> Self {
        arm(Hook(body, origin: CodeOrigin(fileID, line))) { $0.newBody = $1 }
    }

    /// Gives another body, with an owner held weakly: once it has gone, there is no other body.
    public func provideBody<Owner: AnyObject & Sendable>(
        for owner: Owner, fileID: StaticString = #fileID, line: Int = #line,
        @_inheritActorContext _ body:
            @escaping @Sendable @isolated(any) (Owner, RequestHooks.BodyReplayRequest) async throws -> RequestBody?
    ) -> Self {
        arm(Hook(owner: owner, body, origin: CodeOrigin(fileID, line))) { $0.newBody = $1 }
    }

    /// Gives another body, on the actor of the code that sets it, with an owner of any class held weakly.
    public func provideBody<Owner: AnyObject>(
        for owner: Owner, isolation: isolated any Actor = #isolation, fileID: StaticString = #fileID, line: Int = #line,
        _ body: @escaping (Owner, RequestHooks.BodyReplayRequest) async throws -> RequestBody?
    ) -> Self {
        arm(Hook(owner: owner, isolation: isolation, body, origin: CodeOrigin(fileID, line))) { $0.newBody = $1 }
    }

    /// Gives another body inside an actor, which is held weakly.
    public func provideBody<Owner: Actor>(
        for owner: Owner, fileID: StaticString = #fileID, line: Int = #line,
        _ body: @escaping @Sendable (isolated Owner, RequestHooks.BodyReplayRequest) async throws -> RequestBody?
    ) -> Self {
        arm(Hook(actor: owner, body, origin: CodeOrigin(fileID, line))) { $0.newBody = $1 }
    }

    // MARK: Retries

    /// Decides about each attempt that failed and could be made again, whatever the ``RetryPolicy`` decided: about a transfer that failed, and
    /// about a response whose status is not accepted. Not asked where a part of the response was delivered, or where the body cannot be sent again.
    ///
    /// ```swift
    /// session.post("orders", json: order).decideRetry { $0.attempt < 5 && $0.head?.status == 409 ? .retry(after: .seconds(1)) : .asDecided }
    /// ```
    public func decideRetry(
        fileID: StaticString = #fileID, line: Int = #line,
        @_inheritActorContext _ body:
            @escaping @Sendable @isolated(any) (RequestHooks.RetryProposal) async throws -> RequestHooks.RetryAnswer
    ) -> Self {
        arm(Hook(body, origin: CodeOrigin(fileID, line))) { $0.retry = $1 }
    }

    /// Decides about each failed attempt, with an owner held weakly: once it has gone, the policy decides.
    public func decideRetry<Owner: AnyObject & Sendable>(
        for owner: Owner, fileID: StaticString = #fileID, line: Int = #line,
        @_inheritActorContext _ body:
            @escaping @Sendable @isolated(any) (Owner, RequestHooks.RetryProposal) async throws -> RequestHooks.RetryAnswer
    ) -> Self {
        arm(Hook(owner: owner, body, origin: CodeOrigin(fileID, line))) { $0.retry = $1 }
    }

    /// Decides about each failed attempt, on the actor of the code that sets it, with an owner of any class held weakly.
    public func decideRetry<Owner: AnyObject>(
        for owner: Owner, isolation: isolated any Actor = #isolation, fileID: StaticString = #fileID, line: Int = #line,
        _ body: @escaping (Owner, RequestHooks.RetryProposal) async throws -> RequestHooks.RetryAnswer
    ) -> Self {
        arm(Hook(owner: owner, isolation: isolation, body, origin: CodeOrigin(fileID, line))) { $0.retry = $1 }
    }

    /// Decides about each failed attempt inside an actor, which is held weakly.
    public func decideRetry<Owner: Actor>(
        for owner: Owner, fileID: StaticString = #fileID, line: Int = #line,
        _ body: @escaping @Sendable (isolated Owner, RequestHooks.RetryProposal) async throws -> RequestHooks.RetryAnswer
    ) -> Self {
        arm(Hook(actor: owner, body, origin: CodeOrigin(fileID, line))) { $0.retry = $1 }
    }

    // MARK: Responses

    /// Decides about an accepted response that has come over the network, before its body is read and before ``onResponseHead(fileID:line:_:)``.
    /// See ``RequestHooks/Disposition``. Asked once for each attempt that gets so far; not about errors, stored responses, and the
    /// rest of a file that was begun before (``DownloadOptions/resumes``).
    public func decideDisposition(
        fileID: StaticString = #fileID, line: Int = #line,
        @_inheritActorContext _ body:
            @escaping @Sendable @isolated(any) (RequestHooks.IncomingResponse) async throws -> RequestHooks.Disposition
    ) -> Self {
        arm(Hook(body, origin: CodeOrigin(fileID, line))) { $0.disposition = $1 }
    }

    /// Decides about an accepted response, with an owner held weakly: once it has gone, the body is read.
    public func decideDisposition<Owner: AnyObject & Sendable>(
        for owner: Owner, fileID: StaticString = #fileID, line: Int = #line,
        @_inheritActorContext _ body:
            @escaping @Sendable @isolated(any) (Owner, RequestHooks.IncomingResponse) async throws -> RequestHooks.Disposition
    ) -> Self {
        arm(Hook(owner: owner, body, origin: CodeOrigin(fileID, line))) { $0.disposition = $1 }
    }

    /// Decides about an accepted response, on the actor of the code that sets it, with an owner of any class held weakly.
    public func decideDisposition<Owner: AnyObject>(
        for owner: Owner, isolation: isolated any Actor = #isolation, fileID: StaticString = #fileID, line: Int = #line,
        _ body: @escaping (Owner, RequestHooks.IncomingResponse) async throws -> RequestHooks.Disposition
    ) -> Self {
        arm(Hook(owner: owner, isolation: isolation, body, origin: CodeOrigin(fileID, line))) { $0.disposition = $1 }
    }

    /// Decides about an accepted response inside an actor, which is held weakly.
    public func decideDisposition<Owner: Actor>(
        for owner: Owner, fileID: StaticString = #fileID, line: Int = #line,
        _ body: @escaping @Sendable (isolated Owner, RequestHooks.IncomingResponse) async throws -> RequestHooks.Disposition
    ) -> Self {
        arm(Hook(actor: owner, body, origin: CodeOrigin(fileID, line))) { $0.disposition = $1 }
    }

    // MARK: Files

    /// Decides where the file of a download goes, when its response is accepted and before the first byte is written. Answers a file URL; one that
    /// ends with a slash is a folder, and the name in it the server's, made safe, or that of the URL; one that is taken gets a number, and replaces
    /// nothing. Of stored responses, too.
    public func chooseDestination(
        fileID: StaticString = #fileID, line: Int = #line,
        @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (RequestHooks.IncomingDownload) async throws -> URL
    ) -> Self {
        arm(Hook(body, origin: CodeOrigin(fileID, line))) { $0.destination = $1 }
    }

    /// Decides where the file of a download goes, with an owner held weakly: once it has gone, the file goes where the download was told
    /// to.
    public func chooseDestination<Owner: AnyObject & Sendable>(
        for owner: Owner, fileID: StaticString = #fileID, line: Int = #line,
        @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (Owner, RequestHooks.IncomingDownload) async throws -> URL
    ) -> Self {
        arm(Hook(owner: owner, body, origin: CodeOrigin(fileID, line))) { $0.destination = $1 }
    }

    /// Decides where the file of a download goes, on the actor of the code that sets it, with an owner of any class held weakly.
    public func chooseDestination<Owner: AnyObject>(
        for owner: Owner, isolation: isolated any Actor = #isolation, fileID: StaticString = #fileID, line: Int = #line,
        _ body: @escaping (Owner, RequestHooks.IncomingDownload) async throws -> URL
    ) -> Self {
        arm(Hook(owner: owner, isolation: isolation, body, origin: CodeOrigin(fileID, line))) { $0.destination = $1 }
    }

    /// Decides where the file of a download goes inside an actor, which is held weakly.
    public func chooseDestination<Owner: Actor>(
        for owner: Owner, fileID: StaticString = #fileID, line: Int = #line,
        _ body: @escaping @Sendable (isolated Owner, RequestHooks.IncomingDownload) async throws -> URL
    ) -> Self {
        arm(Hook(actor: owner, body, origin: CodeOrigin(fileID, line))) { $0.destination = $1 }
    }

    private func arm<Question, Answer>(
        _ hook: Hook<Question, Answer>, _ set: (inout HookTable, Hook<Question, Answer>) -> Void
    ) -> Self {
        // What it replaces is let go outside the lock.
        var old: HookBox?
        arm { handlers in
            old = handlers.hooks
            handlers.hooks = HookBox.changing(old) { set(&$0, hook) }
        }
        _ = old
        return self
    }
}
