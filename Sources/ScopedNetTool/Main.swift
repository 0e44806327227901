import Glibc

#if CommandLineTool
import ArgumentParser

@main
enum Main {
    /// Not asynchronous: this has to be the main thread, and the only one so far. It stays to wait for signals; `run` ends the process.
    static func main() {
        openStandardDescriptors()
        ProcessArguments.hideSecrets()
        // A reader that leaves is an error of the write, so that a download still tidies up.
        signal(SIGPIPE, SIG_IGN)
        let interruption = Interruption.process
        interruption.begin()
        // Not on the main actor, whose thread waits.
        Task.detached { await run(interruption) }
        interruption.await()
    }

    /// One that was closed by whoever started this would be given to a socket or a file of ours, and then be written to. What takes its place
    /// opens the wrong way round: to use it fails, as it would have.
    private static func openStandardDescriptors() {
        for descriptor in Int32(0)...2 where fcntl(descriptor, F_GETFD) < 0 {
            _ = open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY)
        }
    }

    private static func run(_ interruption: Interruption) async {
        do {
            var parsed = try ScopedNetTool.parseAsRoot()
            if let command = parsed as? any ToolCommand {
                let task = Task { try await command.execute() }
                interruption.end(task)
                try await task.value
            } else {
                try parsed.run()
            }
            exit(interruption.signal.map { ExitStatus.signal($0).code } ?? ExitStatus.success.code)
        } catch let failure as ToolFailure {
            if let signal = interruption.signal { exit(ExitStatus.signal(signal).code) }
            if let message = failure.message { Console().report("scopednet: \(message)") }
            exit(failure.status.code)
        } catch {
            ScopedNetTool.exit(withError: error)
        }
    }
}
#else
@main
enum Main {
    static func main() {
        Console().report("scopednet: built without the trait CommandLineTool, this command does nothing")
        exit(ExitStatus.software.code)
    }
}
#endif
