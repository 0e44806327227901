import FoundationEssentials
import Glibc

/// Standard input, read to its end.
enum StandardInput {
    /// - Throws: a ``ToolFailure`` when it cannot be read.
    static func read() throws(ToolFailure) -> Data {
        var data = Data()
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
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
