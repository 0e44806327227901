/// A client under measurement. Failing ends the process: a benchmark of errors is worth nothing.
public protocol BenchClient: Sendable {
    /// Fetches `url` into memory and reports the number of bytes.
    func get(_ url: String, completion: @escaping @Sendable (Int) -> Void)
    func get(_ url: String) async -> Int

    /// Fetches `url`, makes ``Item``s of its JSON and reports how many.
    func items(_ url: String, completion: @escaping @Sendable (Int) -> Void)
    func items(_ url: String) async -> Int

    /// Posts the file `path` as part of a multipart form, a text field before it, and reports the status.
    func upload(_ path: String, to url: String, completion: @escaping @Sendable (Int) -> Void)

    /// Fetches `url` into the file `path` and reports the number of bytes.
    func download(_ url: String, to path: String, completion: @escaping @Sendable (Int) -> Void)
}

extension BenchClient {
    /// Ends the program: this client has no API of closures.
    public func get(_ url: String, completion: @escaping @Sendable (Int) -> Void) { fail("no closure door") }
    /// Ends the program: this client has no asynchronous API.
    public func get(_ url: String) async -> Int { fail("no async door") }
    /// Ends the program: this client has no API of closures.
    public func items(_ url: String, completion: @escaping @Sendable (Int) -> Void) { fail("no closure door") }
    /// Ends the program: this client has no asynchronous API.
    public func items(_ url: String) async -> Int { fail("no async door") }
    /// Ends the program: this client is not measured with uploads.
    public func upload(_ path: String, to url: String, completion: @escaping @Sendable (Int) -> Void) { fail("no upload") }
    /// Ends the program: this client is not measured with downloads.
    public func download(_ url: String, to path: String, completion: @escaping @Sendable (Int) -> Void) { fail("no download") }
}
