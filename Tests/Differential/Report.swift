import Glibc

/// Counts what was found, and says what nobody has explained.
struct Report {
    private static let defaults = [".field.user-agent", ".field.accept-encoding", ".field.accept-language", ".field.connection"]
    private let explanations: Explanations
    /// Only then must each row have shown itself.
    private let isWhole: Bool
    private var exchanges = 0
    private var agreed = 0
    private var differences = 0
    private var unexplained = 0
    private var shown: [String: Int] = [:]

    init(_ explanations: Explanations, isWhole: Bool) {
        self.explanations = explanations
        self.isWhole = isWhole
    }

    mutating func take(_ id: String, _ found: [Difference], _ outcomes: [(client: String, outcome: Stage.Outcome)]) {
        exchanges += 1
        // What each client says of itself, whatever it is asked for, tells nothing about the exchange.
        if found.allSatisfy({ difference in Self.defaults.contains { difference.aspect.hasSuffix($0) } }) { agreed += 1 }
        differences += found.count
        for difference in found {
            let rows = explanations.rows.filter { $0.covers(difference) }
            for row in rows { shown[row.id, default: 0] += 1 }
            guard rows.isEmpty else { continue }
            unexplained += 1
            say("✘ \(difference)")
            for (client, outcome) in outcomes where outcome.reply.error != nil {
                say("    \(client): \(outcome.reply.detail.prefix(200))")
            }
        }
    }

    private var idle: [String] { isWhole ? explanations.rows.map(\.id).filter { shown[$0] == nil } : [] }

    var isGood: Bool { unexplained == 0 && idle.isEmpty && exchanges > 0 }

    var summary: String {
        var lines = explanations.rows.compactMap { row in shown[row.id].map { "  \(row.id) \(row.who): \($0)" } }
        lines += idle.map { "✘ no exchange shows \($0)" }
        lines.append(
            "\(isGood ? "✔" : "✘") differential: \(exchanges) exchanges, three clients; \(agreed) differ in default fields alone; "
                + "\(differences) differences, \(unexplained) unexplained, \(shown.count) of \(explanations.rows.count) explanations shown")
        return lines.joined(separator: "\n")
    }
}

/// At once, also where the output is a file.
func say(_ text: String) {
    print(text)
    fflush(nil)
}
