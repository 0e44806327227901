import CleanSlate
import Foundation
import TestProcesses
import Testing

/// The web view of WebKitGTK, each scenario in a process of its own; `Scripts/test-views` has an X server for them.
@Suite(.leavesNothing, .serialized, .enabled(if: hasDisplay, "WebKit needs an X server: Scripts/test-views starts one"))
struct WebKitProbeTests {
    @Test(arguments: ["load", "replace", "stop", "end", "slot", "crash"]) func scenarioPasses(name: String) async throws {
        let result = try await ProgramRun([product("WebKitProbe"), name]).result()
        #expect(result.status == 0 && result.output.hasSuffix("passed\n"), "\(result.output)\(result.errors)")
    }
}

private var hasDisplay: Bool { ProcessInfo.processInfo.environment["DISPLAY"] != nil }
