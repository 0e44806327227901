import CleanSlate
import Foundation
import TestProcesses
import Testing

/// The widgets of GTK, each scenario in a process whose main thread is that of GTK; `Scripts/test-views` has an X server for them.
@Suite(.leavesNothing, .enabled(if: hasDisplay, "GTK needs an X server: Scripts/test-views starts one"))
struct GTKProbeTests {
    private static let names = [
        "texture", "picture", "image", "button", "button-child", "progress", "spinner", "refresh", "dialog", "dialog-parent",
        "bag", "widget-end", "disposal", "outlived", "growth", "slot", "rebind", "run", "wall", "program", "indicator",
    ]

    @Test(arguments: names) func scenarioPasses(name: String) async throws {
        let result = try await ProgramRun([product("GTKProbe"), name]).result()
        #expect(result.status == 0 && result.output.hasSuffix("passed\n"), "\(result.output)\(result.errors)")
    }

    /// A scenario that this suite does not name would never run.
    @Test func everyScenarioRuns() async throws {
        let names = try await ProgramRun([product("GTKProbe")]).result().output.split(separator: "\n").map(String.init)
        #expect(names == Self.names.sorted())
    }

    /// The article has the code that the scenario `wall` runs.
    @Test func theArticleHasTheCodeThatRuns() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        func text(_ path: String) throws -> String { try String(contentsOf: root.appending(path: path), encoding: .utf8) }
        let code = try text("Tests/GTKProbe/PhotoWall.swift").replacing("import CViewsGTK", with: "import CGTK")
        let article = try text("Sources/ScopedNetGTK/ScopedNetGTK.docc/PhotoWall.md")
        #expect(article.contains("```swift\n\(code)```"))
        let program = try text("Tests/GTKProbe/PhotoWallProgram.swift").split(separator: "\n\n", maxSplits: 1)[1]
        #expect(article.contains("```swift\n\(program)```"))
    }
}

private var hasDisplay: Bool { ProcessInfo.processInfo.environment["DISPLAY"] != nil }
