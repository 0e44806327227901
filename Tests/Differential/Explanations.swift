import Foundation

/// The rows of `docs/differential.md`. (pure)
struct Explanations: Sendable {
    struct Row: Sendable {
        var id: String
        var who: String
        var aspects: [String]
        var exchanges: [String]

        func covers(_ difference: Difference) -> Bool {
            who == difference.who && aspects.contains { Explanations.glob($0, matches: difference.aspect) }
                && exchanges.contains { Explanations.glob($0, matches: difference.exchange) }
        }
    }

    private(set) var rows: [Row] = []

    /// - Parameter text: Markdown with a table of id, who, aspects and exchanges in backquotes, and the reason.
    init(_ text: String) {
        for line in text.split(separator: "\n") where line.hasPrefix("| D") {
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 5 else { continue }
            rows.append(Row(id: cells[0], who: cells[1], aspects: Self.quoted(cells[2]), exchanges: Self.quoted(cells[3])))
        }
    }

    private static func quoted(_ cell: String) -> [String] {
        cell.split(separator: "`", omittingEmptySubsequences: false).enumerated().filter { $0.offset % 2 == 1 }.map { String($0.element) }
    }

    /// A star stands for any text.
    static func glob(_ pattern: String, matches text: String) -> Bool {
        let parts = pattern.split(separator: "*", omittingEmptySubsequences: false)
        guard parts.count > 1 else { return pattern == text }
        guard text.hasPrefix(parts[0]) else { return false }
        var rest = text.dropFirst(parts[0].count)
        for part in parts[1..<(parts.count - 1)] where !part.isEmpty {
            guard let found = rest.firstRange(of: part) else { return false }
            rest = rest[found.upperBound...]
        }
        return rest.hasSuffix(parts[parts.count - 1])
    }
}
