#if CommandLineTool
import ArgumentParser

/// A subcommand that does something. `Sendable`, because it runs in a task that a signal can cancel.
protocol ToolCommand: ParsableCommand, Sendable {
    /// Returns when all is done; standard output holds everything then.
    func execute() async throws(ToolFailure)
}
#endif
