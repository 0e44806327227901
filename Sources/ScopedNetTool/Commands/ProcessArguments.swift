import Glibc
import ScopedNet

/// The memory in which the kernel keeps this process's arguments for `ps` and `/proc/PID/cmdline`.
enum ProcessArguments {
    /// Covers the secrets among the arguments in place, as curl does; whoever looked in the first
    /// instants of the process has seen them.
    ///
    /// Call it first of all, on the main thread and while there is no other.
    static func hideSecrets() {
        // From here on Swift has a copy of its own, which the parser reads.
        _ = CommandLine.arguments
        guard let memory = memory() else { return }
        let arguments = memory.split(separator: 0, omittingEmptySubsequences: false).map { Array($0) }
        let hidden = ArgumentSecrets.hidden(arguments)
        guard hidden != arguments else { return }
        for (index, byte) in hidden.joined(separator: [0]).enumerated() where memory[index] != byte { memory[index] = byte }
    }

    /// Nil where `/proc` is not mounted.
    private static func memory() -> UnsafeMutableBufferPointer<UInt8>? {
        guard let file = fopen("/proc/self/stat", "re") else { return nil }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 4_096)
        let count = fread(&bytes, 1, bytes.count, file)
        // The name in parentheses may hold anything; what follows the last one is field 3 (proc(5)).
        let fields = String(decoding: bytes[..<count], as: UTF8.self).split(separator: ")").last?.split(separator: " ") ?? []
        guard fields.count > 46, let start = UInt(fields[45]), let end = UInt(fields[46]), start > 0, start < end else { return nil }
        // Safety: `arg_start` and `arg_end` (fields 48 and 49) bound memory of this process's stack that the kernel
        // filled with the arguments; it is writable, stays mapped, and nothing else reads it while there is one thread.
        return UnsafeMutableBufferPointer(start: UnsafeMutablePointer(bitPattern: start), count: Int(end - start))
    }
}
