/// A client under measurement. Failing ends the process: a benchmark of errors is worth nothing.
public protocol BenchClient: Sendable {
    /// Fetches `url` into memory and reports the number of bytes.
    func get(_ url: String, completion: @escaping @Sendable (Int) -> Void)
    func get(_ url: String) async -> Int

    /// Fetches `url` into the file `path` and reports the number of bytes.
    func download(_ url: String, to path: String, completion: @escaping @Sendable (Int) -> Void)
}

extension BenchClient {
    public func get(_ url: String, completion: @escaping @Sendable (Int) -> Void) { fail("no closure door") }
    public func get(_ url: String) async -> Int { fail("no async door") }
    public func download(_ url: String, to path: String, completion: @escaping @Sendable (Int) -> Void) { fail("no download") }
}
