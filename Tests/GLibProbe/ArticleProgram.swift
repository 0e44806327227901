import CMainLoopGLib
import GLibMainLoop

@MainActor func main() throws {
    try MainQueueBridge.install()
    var isDone = false
    Task {
        try await Task.sleep(for: .seconds(1))
        isDone = true
    }
    while !isDone { g_main_context_iteration(nil, 1) }
}
