extension Session.Configuration {
    /// The addresses of certain hosts, in place of a name lookup; none by default. Of two for the same host and port the later one counts.
    /// A session with other overrides has connections of its own.
    public var resolves: [ConnectionSettings.ResolveOverride] {
        get { connection.resolves }
        set { connection.resolves = newValue }
    }

    /// The hosts and ports that connections are made to, in place of those in the URLs; none by default. A session with other overrides
    /// has connections of its own. Through a proxy such a request goes in a tunnel, over `http` too.
    public var connectsTo: [ConnectionSettings.ConnectOverride] {
        get { connection.connectsTo }
        set { connection.connectsTo = newValue }
    }
}
