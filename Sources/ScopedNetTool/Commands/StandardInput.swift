import FoundationEssentials
import Glibc

/// Standard input, read to its end.
enum StandardInput {
    /// - Throws: a ``ToolFailure`` when it cannot be read, or a signal came before its end.
    static func read() throws(ToolFailure) -> Data {
        var data = Data()
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            guard Interruption.process.wait(for: POLLIN, on: STDIN_FILENO), !Task.isCancelled else { throw .interrupted }
            let count = Glibc.read(STDIN_FILENO, &buffer, buffer.count)
            if count == 0 { return data }
            if count > 0 {
                data.append(contentsOf: buffer[..<count])
            } else if errno != EINTR {
                throw ToolFailure(ExitStatus(code: 26), "standard input cannot be read: \(String(cString: strerror(errno)))")
            }
        }
    }
}
