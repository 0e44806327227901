extension Request.Registration {
    /// Registers a callback that was made elsewhere. It stays, and may be registered with other requests.
    public func callAsFunction(_ callback: Callback<Payload>) -> Request<Value> {
        if let handler = callback.current { arm(handler) } else { request }
    }
}
