/// What is asked when a path is looked for.
struct PathQuestion {
    var target: NetworkPath.Target
    /// The addresses of a host, as last resolved.
    var resolved: [IPAddress] = []
    /// The interfaces of the path told last, if that one was good.
    var inUse: [NetworkInterface] = []
}
