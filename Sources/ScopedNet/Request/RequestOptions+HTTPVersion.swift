extension RequestOptions {
    /// The version of HTTP that is spoken.
    public typealias HTTPVersionPolicy = ConnectionSettings.HTTPVersionPolicy
}
