// Pure: no clock, lock, thread or import. The model check compiles this very file.

/// One step of a run's work. Its driver carries it out, at once or in its own time, and says what came of it with one ``RunEvent``.
package enum RunStep: Hashable, Sendable {
    /// Nothing has begun.
    case created
    /// The interceptors of the call have the request.
    case interceptCall
    /// The target of a download becomes this run's.
    case claimTarget
    /// Cookies and credentials are put among the fields of the first exchange; a token may have to be fetched.
    case authorize
    /// The key is made, what is stored is looked up, and the rules of the cache decide. With `elsewhere` on a thread that may block, as this one
    /// may not.
    case consultCache(elsewhere: Bool)
    /// It asks the server for others, too, or waits for one that does.
    case coalesce
    /// The stored response is told, and then the server is asked.
    case serveFirst
    /// The stored response becomes the exchange's response.
    case serve
    /// The exchange gets the fields that the cache wants it to go out with.
    case condition
    /// A path to the server is waited for, where the request asked for that.
    case awaitPath
    /// The interceptors of exchanges have the request.
    case interceptExchange
    /// A turn in the rate limit of the host.
    case awaitRate
    /// A slot for a connection.
    case awaitSlot
    /// The run is suspended and gives its slot back.
    case park
    case transfer
    /// The answer of a hook about the body is waited for, where there is one; the transfer is over.
    case awaitDisposition
    /// The part of a download is completed, kept or dropped, on its disk.
    case finishPart
    /// The interceptors of exchanges have the response, or the error in its place.
    case leaveExchange
    /// The cache learns what the response means for what is stored.
    case updateCache
    /// The response, or the error in its place, is judged by the first ``ResponseVerdict`` after the one that has declined.
    case judge(after: ResponseVerdict?)
    /// The time until the next attempt.
    case backOff
    /// A wait was too long, and something stored is looked for in the error's place.
    case replaceError
    /// A response that is not accepted is stored by the rules of HTTP before it fails the run; there may be an error and no response.
    case storeRefused
    /// The file of a download gets its place.
    case placeFile
    /// The value is made of the response, which is stored then.
    case makeValue
    /// The file of a download is copied into the cache, where it has one. After every value that was made on another thread.
    case copyToCache
    /// The interceptors of the call may have an answer to the error. Else target and part are released, its body is decoded, and the outcome is set.
    case fail
    /// The outcome is handed to the callback executor. The last step.
    case deliver
}

/// The end of a ``RunStep``.
package enum RunEvent: Hashable, Sendable {
    /// The run was started, and goes on with this.
    case began(Beginning)
    /// The step did what it is there for.
    case done
    /// The cache is to be asked about the exchange, which is a new one, or whose stored response is not there; with `elsewhere` on a thread that may
    /// block.
    case changed(elsewhere: Bool)
    /// The cache has no part in the exchange.
    case uncached
    /// Something stored is the response.
    case found
    /// Something stored is told first.
    case foundFirst
    /// The server is to be asked; with `isShared` the answer may be for others, too.
    case missed(isShared: Bool)
    /// The run has a slot, but its host has asked to wait.
    case delayed
    /// The run has a slot, and is suspended.
    case suspended
    /// The run is suspended no more; with `hasSlot` before anybody could take its slot.
    case resumed(hasSlot: Bool)
    /// A response is to be judged, or an error in its place.
    case answered
    /// The step of the verdict leaves the response to the next one.
    case declined(ResponseVerdict)
    /// Another attempt is made.
    case retried
    /// The response is accepted; with `hasFile` its file has to get its place.
    case accepted(hasFile: Bool)
    /// The response is not accepted, or there is none.
    case refused
    /// The value was made on another thread than that of the transfer.
    case decoded
    /// A wait was too long.
    case expired
    /// An error is the outcome.
    case failed

    package enum Beginning: Hashable, Sendable {
        /// With interceptors of the call; then one of the others follows.
        case call
        case request, download
        /// Refreshes what the cache has, and has asked it before.
        case refresh
    }
}
