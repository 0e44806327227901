import Foundation
import Glibc

/// What one run of the system's `curl` gave.
struct CurlResult: Sendable {
    var exitCode: Int32
    var output: String
    var errors: String
}

/// The system's `curl`: a client nobody here wrote.
final class Curl: Sendable {
    private let process: Process
    private let finished: AsyncStream<Int32>
    private let outputPath: String
    private let errorPath: String

    /// Starts it.
    init(_ arguments: [String]) throws {
        let folder = NSTemporaryDirectory() + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        outputPath = folder + "/out"
        errorPath = folder + "/err"
        _ = FileManager.default.createFile(atPath: outputPath, contents: nil)
        _ = FileManager.default.createFile(atPath: errorPath, contents: nil)
        let (stream, continuation) = AsyncStream.makeStream(of: Int32.self)
        finished = stream
        process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/curl")
        process.arguments = ["--silent", "--show-error", "--max-time", "30"] + arguments
        process.standardOutput = FileHandle(forWritingAtPath: outputPath)
        process.standardError = FileHandle(forWritingAtPath: errorPath)
        process.terminationHandler = { process in
            continuation.yield(process.terminationStatus)
            continuation.finish()
        }
        try process.run()
    }

    /// Ends it at once; the kernel closes its connections. (SIGTERM may be blocked: a child inherits the mask of its thread.)
    func kill() {
        _ = Glibc.kill(process.processIdentifier, SIGKILL)
    }

    func result() async -> CurlResult {
        var code: Int32 = -1
        for await status in finished { code = status }
        func read(_ path: String) -> String {
            String(decoding: FileManager.default.contents(atPath: path) ?? Data(), as: UTF8.self)
        }
        defer { try? FileManager.default.removeItem(atPath: (outputPath as NSString).deletingLastPathComponent) }
        return CurlResult(exitCode: code, output: read(outputPath), errors: read(errorPath))
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
