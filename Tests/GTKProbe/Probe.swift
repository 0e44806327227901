import CViewsGTK

typealias Scenario = @MainActor () async throws -> Void

/// The main loop of the process, and its verdict.
@MainActor
enum Probe {
    private static var failures = 0

    /// Runs a scenario to its end, and the main loop beside it.
    static func run(_ scenario: @escaping Scenario) -> Int32 {
        let loop = g_main_loop_new(nil, 0)
        Task {
            do { try await scenario() } catch { fail("\(error)", #line) }
            g_main_loop_quit(loop)
        }
        g_main_loop_run(loop)
        print(failures == 0 ? "passed" : "failed")
        return failures == 0 ? 0 : 1
    }

    static func expect(_ condition: Bool, _ text: @autoclosure () -> String = "", file: StaticString = #fileID, line: Int = #line) {
        if !condition { fail("\(file) \(text())", line) }
    }

    private static func fail(_ text: String, _ line: Int) {
        failures += 1
        print("\(text) (line \(line))")
    }
}

@MainActor func expect(_ condition: Bool, _ text: @autoclosure () -> String = "", file: StaticString = #fileID, line: Int = #line) {
    Probe.expect(condition, text(), file: file, line: line)
}
