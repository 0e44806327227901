import Foundation
import TestProcesses
import Testing

/// The widgets of GTK, each scenario in a process whose main thread is that of GTK; `Scripts/test-views` has an X server for them.
@Suite(.enabled(if: ProcessInfo.processInfo.environment["DISPLAY"] != nil, "GTK needs an X server: Scripts/test-views starts one"))
struct GTKProbeTests {
    @Test(arguments: [
        "texture", "picture", "image", "button", "button-child", "progress", "spinner", "refresh", "dialog", "dialog-parent",
        "bag", "widget-end", "disposal", "outlived", "growth", "slot", "rebind", "run",
    ]) func scenarioPasses(name: String) async throws {
        let result = try await ProgramRun([product("GTKProbe"), name]).result()
        #expect(result.status == 0 && result.output.hasSuffix("passed\n"), "\(result.output)\(result.errors)")
    }

    /// A scenario that this suite does not name would never run.
    @Test func everyScenarioRuns() async throws {
        let names = try await ProgramRun([product("GTKProbe")]).result().output.split(separator: "\n").count
        #expect(names == 18)
    }
}
