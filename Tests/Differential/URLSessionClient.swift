import Foundation
import TestProcesses

/// FoundationNetworking's URLSession, in a process of its own for each exchange: it may crash, and it may never come back.
struct URLSessionClient: Client {
    let name = "URLSession"

    func perform(_ call: Call) async -> Reply {
        do {
            let input = String(decoding: try JSONEncoder().encode(call), as: UTF8.self)
            let file = FileManager.default.temporaryDirectory.appending(path: "scopednet-differential-\(UUID().uuidString).json")
            defer { try? FileManager.default.removeItem(at: file) }
            // By way of a file: what a program is given to read may be larger than a pipe.
            try input.write(to: file, atomically: true, encoding: .utf8)
            let program = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
            let environment = ["SWIFT_BACKTRACE": "enable=no"]
            let result = try await ProgramRun([program, "urlsession", file.path], environment: environment).result()
            if result.status == URLSessionWorker.hangs { return Reply(error: "hang", detail: "nothing after 8 seconds") }
            guard result.status == 0 else {
                return Reply(error: "crash", detail: "status \(result.status): \(result.errors.prefix(300))")
            }
            return try JSONDecoder().decode(Reply.self, from: Data(result.output.utf8))
        } catch {
            return Reply(error: "other", detail: "\(error)")
        }
    }
}
