import Synchronization

/// The deciding hooks of a run: who is asked, and when they go.
extension RunCore {
    /// Before the run begins, once it is in the agent: from here on every end takes them away.
    func adopt(_ hooks: HookBox) {
        addExtra { $0.hooks = hooks }
        // As for the options' hooks, which the template knows of.
        if hooks.table.holdsBodies, preparationError == nil, let options = template.transferOptions.holdingBodies {
            exchanges.setOptions(options)
        }
        // Cancelled meanwhile, when there was nothing to take away yet.
        if lifecycle.isOver { dropHooks() }
    }

    /// With the closures (G6).
    func dropHooks() {
        let hooks = ifExtras { extras in
            defer { extras.hooks = nil }
            return extras.hooks
        }
        // Released here, outside the lock.
        _ = hooks
    }

    /// The hook of this start, or else of the options. Nil where there is none, and where nobody is asked any more: gates are closed for hooks
    /// as for all other calls (G3), and a refresh beside a stale response is nobody's.
    func hook<Question, Answer>(_ which: (HookTable) -> Hook<Question, Answer>?) -> Hook<Question, Answer>? {
        guard !isMuted, !drive.isRefresh else { return nil }
        if let own = ifExtras({ $0.hooks }) ?? nil, let hook = which(own.table) {
            return hook
        }
        return template.options.hooks.box.flatMap { which($0.table) }
    }

    /// A question to that hook; nil where there is none.
    func question<Question, Answer>(
        _ which: (HookTable) -> Hook<Question, Answer>?, _ make: () -> Question
    ) -> HookQuestion<Result<Answer?, any Error>>? {
        guard let hook = hook(which) else { return nil }
        let (question, admit) = (make(), admission)
        return HookQuestion { await hook.ask(question, admit: admit) }
    }

    /// The run waits for the answer. What the hook throws ends it.
    ///
    /// `next` gets nil where the hook was not called: what happens then is what happens without one.
    func ask<Answer>(_ question: HookQuestion<Result<Answer?, any Error>>, next: @escaping @Sendable (RunCore, Answer?) -> Void) {
        ask(question) { run, answer in
            switch answer {
            case .success(let answer): next(run, answer)
            case .failure(let error): run.fail(run.hookError(error), batch: nil)
            }
        }
    }

    /// Asked just before a hook is called, where it runs. Holds no run.
    var admission: @Sendable () -> Bool {
        { [weak self] in self?.mayCall == true }
    }

    /// An error of the program's own, or, said of this run, what was thrown.
    func hookError(_ error: any Error) -> NetworkError {
        // `cancelled` is said of runs that were.
        guard var own = error as? NetworkError, own.code != .cancelled else {
            return NetworkError(
                .hookFailed, phase: .receiving, message: "a hook threw \(error)", runID: id, attempt: attemptNumber,
                underlying: error)
        }
        own.runID = id
        own.attempt = attemptNumber
        return own
    }
}
