public import FoundationEssentials

/// Closures that decide. Each arms the *next* start and is destroyed when that run ends; setting one a second time replaces it. It goes before
/// the one of the options (``RequestHooks``), which is then not asked.
///
/// The forms are those of ``HookRegistration``. `for:` hands the owner to the closure and holds it weakly until then. Once the owner's deinit has begun the closure is skipped, and what
/// happens is what happens without one. The owner is an actor, a `Sendable` class, or any class in code that runs on an actor, which then
/// runs the closure, too. While it decides, the owner is held. Closures run on the actor where they are written, or inside the
/// owner when that is an actor, else on the concurrency runtime; never on the network thread, never under a lock.
///
/// After a cancel on the closure's own actor it is not called any more. Elsewhere one that has begun is not waited for: its task is cancelled,
/// and its answer dropped. What it throws fails the run: a ``NetworkError`` as it is, all else as the `underlying` of `hookFailed`.
extension Request {
    /// Decides about each redirect that the ``RedirectPolicy`` follows, one after the other. See ``RedirectPolicy/Answer``. Without the owner
    /// redirects are followed as proposed.
    public var decideRedirect: HookRegistration<RequestHooks.RedirectProposal, RedirectPolicy.Answer> {
        HookRegistration(request: self) { $0.redirect = $1 }
    }

    /// Gives another body where one that can be read once has to be sent again. With nil, and without the owner, a redirect fails with
    /// `bodyNotReplayable`, and a retry is not made.
    public var provideBody: HookRegistration<RequestHooks.BodyReplayRequest, RequestBody?> {
        HookRegistration(request: self) { $0.newBody = $1 }
    }

    /// Decides about each attempt that failed and could be made again, whatever the ``RetryPolicy`` decided: about a transfer that failed, and
    /// about a response whose status is not accepted. Not asked where a part of the response was delivered, or where the body cannot be sent
    /// again. Without the owner the policy decides.
    ///
    /// ```swift
    /// session.post("orders", json: order).decideRetry { $0.attempt < 5 && $0.head?.status == 409 ? .retry(after: .seconds(1)) : .asDecided }
    /// ```
    public var decideRetry: HookRegistration<RequestHooks.RetryProposal, RequestHooks.RetryAnswer> {
        HookRegistration(request: self) { $0.retry = $1 }
    }

    /// Reads the body of an accepted response while it arrives, beside the run, which collects it, stores it and hands over its value as ever: what
    /// shows a picture before it is whole (<doc:Layers>).
    ///
    /// The closure is called in a task of its own, once for each accepted response that comes over the network into memory: for an attempt after one that
    /// broke off anew, and not for error pages, redirects, files, streams, or what the cache or another run has got. It gets the head and the body, its
    /// coding undone; interceptors have not changed it. A reader that falls behind holds the transfer up: at most `window` bytes wait for it. Over HTTP/2 that
    /// needs libcurl 8, and the request uses HTTP/1.1 below. One that returns or leaves the loop stops nothing.
    ///
    /// The run does not wait for it: with what has come it may go on reading after the success. A cancel of the run, and later the end of its bag, cancels
    /// the task and ends the sequence with `cancelled`. The closure is destroyed with the run or its task, whichever ends last. It is not handed an owner,
    /// whom it would hold for as long as the body takes.
    ///
    /// - Parameters:
    ///   - window: bytes that may wait for the reader. Default: 256 KiB.
    ///   - fileID: the file of the call, which leak tests name, with `line`.
    ///   - line: the line of the call.
    ///   - read: sees each piece once. Errors of the transfer are thrown by the sequence, and are the run's besides.
    /// - Returns: the request.
    public func onBody(
        window: Int = 256 << 10, fileID: StaticString = #fileID, line: Int = #line,
        _ read: @escaping @isolated(any) @Sendable (ResponseHead, StreamedResponse.Bytes) async throws -> Void
    ) -> Self {
        arm { $0.bodyWatch = .reader(BodyObserver(window: window, origin: CodeOrigin(fileID, line), read)) }
        guard !Capabilities.current.pausesHTTP2Safely else { return self }
        return options { if $0.httpVersion == .automatic { $0.httpVersion = .http1 } }
    }

    /// Decides about an accepted response that has come over the network, before its body is read and before ``onResponseHead``.
    /// See ``RequestHooks/Disposition``. Asked once for each attempt that gets so far; not about errors, stored responses, and the
    /// rest of a file that was begun before (``DownloadOptions/resumes``). Without the owner the body is read.
    public var decideDisposition: HookRegistration<RequestHooks.IncomingResponse, RequestHooks.Disposition> {
        HookRegistration(request: self) { $0.disposition = $1 }
    }

    /// Decides where the file of a download goes, when its response is accepted and before the first byte is written. Answers a file URL; one that
    /// ends with a slash is a folder, and the name in it the server's, made safe, or that of the URL; one that is taken gets a number, and replaces
    /// nothing. Of stored responses, too. Without the owner the file goes where the download was told to.
    public var chooseDestination: HookRegistration<RequestHooks.IncomingDownload, URL> {
        HookRegistration(request: self) { $0.destination = $1 }
    }
}

extension Request {
    /// One of the deciding closures of a request, which is set by calling this like a function.
    public struct HookRegistration<Question: Sendable, Answer: Sendable>: Sendable {
        let request: Request
        let set: @Sendable (inout HookTable, Hook<Question, Answer>) -> Void

        /// Sets a closure. It runs on the actor where it is written, else on the concurrency runtime.
        public func callAsFunction(
            fileID: StaticString = #fileID, line: Int = #line,
            @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (Question) async throws -> Answer
        ) -> Request {
            arm(Hook(body, origin: CodeOrigin(fileID, line)))
        }

        /// Sets a closure that gets its owner, which is held weakly until then.
        public func callAsFunction<Owner: AnyObject & Sendable>(
            for owner: Owner, fileID: StaticString = #fileID, line: Int = #line,
            @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (Owner, Question) async throws -> Answer
        ) -> Request {
            arm(Hook(owner: owner, body, origin: CodeOrigin(fileID, line)))
        }

        /// Sets a closure that gets an owner of any class, on the actor of the code that sets it.
        public func callAsFunction<Owner: AnyObject>(
            for owner: Owner, isolation: isolated any Actor = #isolation, fileID: StaticString = #fileID, line: Int = #line,
            _ body: @escaping (Owner, Question) async throws -> Answer
        ) -> Request {
            arm(Hook(owner: owner, isolation: isolation, body, origin: CodeOrigin(fileID, line)))
        }

        /// Sets a closure that runs inside its owner, an actor.
        public func callAsFunction<Owner: Actor>(
            for owner: Owner, fileID: StaticString = #fileID, line: Int = #line,
            _ body: @escaping @Sendable (isolated Owner, Question) async throws -> Answer
        ) -> Request {
            arm(Hook(actor: owner, body, origin: CodeOrigin(fileID, line)))
        }

        private func arm(_ hook: Hook<Question, Answer>) -> Request {
            // The replaced hook is let go outside the lock.
            var old: HookBox?
            request.arm { handlers in
                old = handlers.hooks
                handlers.hooks = HookBox.changing(old) { set(&$0, hook) }
            }
            _ = old
            return request
        }
    }
}
