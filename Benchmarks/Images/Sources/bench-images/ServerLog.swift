import Foundation

/// The log of the server: a line for each response, `URI STATUS BYTES`.
struct ServerLog {
    struct Line {
        let path: String
        let status: Int
        let bytes: Int
    }

    let path: String

    var lines: [Line] {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return [] }
        return text.split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ")
            guard words.count >= 3, let status = Int(words[1]), let bytes = Int(words[2]) else { return nil }
            return Line(path: String(words[0]), status: status, bytes: bytes)
        }
    }

    /// The lines that came after the first `count`, when there are `most` of them or half a second has passed.
    func lines(after count: Int, most: Int) async throws -> [Line] {
        for _ in 0..<50 where lines.count - count < most { try await Task.sleep(for: .milliseconds(10)) }
        return Array(lines.dropFirst(count))
    }
}
