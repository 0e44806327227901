extension Request {
    /// Sets the delegate of later starts, called on the actor this is called from. Held weakly.
    @discardableResult
    public func delegate(_ delegate: any RequestDelegate, isolation: isolated any Actor = #isolation) -> Self {
        setDelegate(DelegateReference(delegate, isolation: isolation))
        return self
    }

    /// Sets a delegate that may be called from anywhere; it is called on the session's delivery queue.
    @_disfavoredOverload
    @discardableResult
    public func delegate(_ delegate: any RequestDelegate & Sendable) -> Self {
        setDelegate(DelegateReference(delegate, isolation: nil))
        return self
    }
}
