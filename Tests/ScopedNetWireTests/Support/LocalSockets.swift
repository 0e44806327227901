import Foundation

/// The kernel's own table of IPv4 connections (proc_net(5)).
enum LocalSockets {
    /// Connections to this port whose far end has not closed, as far as the near end knows; nil where the table cannot be read just now.
    static func established(to port: Int) -> Int? {
        guard let table = try? String(contentsOfFile: "/proc/thread-self/net/tcp", encoding: .ascii) else { return nil }
        let suffix = ":" + String(format: "%04X", port)
        return table.split(separator: "\n").count { line in
            let words = line.split(separator: " ")
            return words.count > 3 && words[2].hasSuffix(suffix) && words[3] == "01"
        }
    }

    /// Returns when the near ends, too, have heard that the far ones closed. Nothing announces it, so this looks again and again. The table is not
    /// read in one step: while other connections come and go one may be passed over, but not in look after look.
    static func waitForTheirEnd(at port: Int) async throws {
        var looksWithout = 0
        while looksWithout < 20 {
            looksWithout = established(to: port) == 0 ? looksWithout + 1 : 0
            try await Task.sleep(for: .milliseconds(1))
        }
    }
}
