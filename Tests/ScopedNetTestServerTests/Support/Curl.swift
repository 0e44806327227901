import CleanSlate
import Foundation

/// What one run of the system's `curl` gave.
struct CurlResult: Sendable {
    var exitCode: Int32
    var output: String
    var errors: String
}

/// The system's `curl`: a client nobody here wrote.
final class Curl: Sendable {
    private let process: ChildProcess

    /// Starts it.
    init(_ arguments: [String]) throws {
        process = try ChildProcess(["/usr/bin/curl", "--silent", "--show-error", "--max-time", "30"] + arguments)
    }

    /// Ends it at once; the kernel closes its connections.
    func kill() { process.kill() }

    func result() async -> CurlResult {
        let result = await process.end()
        return CurlResult(exitCode: result.status, output: result.output, errors: result.errors)
    }
}

/// Runs `curl` to its end.
func curl(_ arguments: String...) async throws -> CurlResult {
    try await Curl(arguments).result()
}

/// A file that is gone when the last user is.
final class TemporaryFile: Sendable {
    let path = NSTemporaryDirectory() + "loopback-" + UUID().uuidString

    init(_ text: String = "") {
        _ = FileManager.default.createFile(atPath: path, contents: Data(text.utf8))
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }
}
