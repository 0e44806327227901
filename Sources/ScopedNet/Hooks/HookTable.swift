import FoundationEssentials

/// The deciding closures of one place: of the options, or of one start.
package struct HookTable: Sendable {
    var redirect: Hook<RequestHooks.RedirectProposal, RedirectPolicy.Answer>?
    var disposition: Hook<RequestHooks.IncomingResponse, RequestHooks.Disposition>?
    var destination: Hook<RequestHooks.IncomingDownload, URL>?
    var newBody: Hook<RequestHooks.BodyReplayRequest, RequestBody?>?
    var retry: Hook<RequestHooks.RetryProposal, RequestHooks.RetryAnswer>?
    /// Of the options only.
    var shouldCache: (@Sendable (any Sendable, ResponseHead) -> Bool)?

    var isEmpty: Bool {
        redirect == nil && disposition == nil && destination == nil && newBody == nil && retry == nil && shouldCache == nil
    }

    /// A body may have to wait for an answer.
    var holdsBodies: Bool { disposition != nil || destination != nil }

    /// For the census.
    var origins: [String] {
        [
            redirect.map { "decideRedirect at \($0.origin)" }, disposition.map { "decideDisposition at \($0.origin)" },
            destination.map { "chooseDestination at \($0.origin)" }, newBody.map { "provideBody at \($0.origin)" },
            retry.map { "decideRetry at \($0.origin)" },
        ].compactMap { $0 }
    }
}

/// A table by reference, so that those who have none pay for a nil. Immutable: changing one makes another.
package final class HookBox: Sendable {
    let table: HookTable

    /// Nil for an empty table.
    init?(_ table: HookTable) {
        if table.isEmpty { return nil }
        self.table = table
    }

    static func changing(_ box: HookBox?, _ change: (inout HookTable) -> Void) -> HookBox? {
        var table = box?.table ?? HookTable()
        change(&table)
        return HookBox(table)
    }
}
