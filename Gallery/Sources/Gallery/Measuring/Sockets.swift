import Glibc

/// The TCP connections of this network namespace (proc(5), `/proc/net/tcp`).
enum Sockets {
    /// The number of connections that are established to a port of this machine, seen from the client's side.
    static func established(toPort port: Int) -> Int {
        guard let file = fopen("/proc/net/tcp", "r") else { return 0 }
        defer { fclose(file) }
        let digits = String(port, radix: 16, uppercase: true)
        let wanted = ":" + String(repeating: "0", count: 4 - digits.count) + digits
        var line = [CChar](repeating: 0, count: 512)
        var count = 0
        while fgets(&line, 512, file) != nil {
            let text = line.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
            let words = text.split(separator: " ")
            // Its number, the local address, the remote one, and the state: 01 is ESTABLISHED.
            if words.count > 3, words[2].hasSuffix(wanted), words[3] == "01" { count += 1 }
        }
        return count
    }

    /// Waits until there is none.
    static func waitForNone(toPort port: Int) async {
        while established(toPort: port) > 0 { try? await Task.sleep(for: .milliseconds(2)) }
    }
}
