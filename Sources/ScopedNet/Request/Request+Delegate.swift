extension Request {
    /// Sets the delegate of later starts, called on the actor this is called from. Held weakly.
    public func delegate(_ delegate: any RequestDelegate, isolation: isolated any Actor = #isolation) -> Self {
        setDelegate(DelegateReference(delegate, isolation: isolation))
        return self
    }

    /// Sets a delegate from code that runs on no actor: it must be Sendable, and is called on the session's delivery queue.
    public func delegate(sendable delegate: any RequestDelegate & Sendable) -> Self {
        setDelegate(DelegateReference(delegate, isolation: nil))
        return self
    }
}
