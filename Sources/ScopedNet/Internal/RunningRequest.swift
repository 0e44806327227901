enum RunningRequest {
    /// Work that a running request needs, such as fetching its token: the runs it starts are taken to the end.
    @TaskLocal static var isServed = false
}
