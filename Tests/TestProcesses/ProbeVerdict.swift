package import Foundation

/// The findings of one run of `HostileProbe`: what did not hold, and the figures of what did.
package struct ProbeVerdict: Codable, Sendable {
    /// The scenario, as the command line names it.
    package var scenario: String
    /// A sentence for each thing that did not hold; none when all did.
    package var problems: [String] = []
    /// Counts, and times in milliseconds, by name.
    package var figures: [String: Double] = [:]

    package init(scenario: String) { self.scenario = scenario }

    /// The last line of `output` that is a verdict; nil when there is none.
    package init?(output: String) {
        let lines = output.split(separator: "\n").reversed()
        guard let verdict = lines.lazy.compactMap({ try? JSONDecoder().decode(Self.self, from: Data($0.utf8)) }).first else { return nil }
        self = verdict
    }

    /// The verdict as one line of JSON.
    package var line: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }

    /// The figures in one line, for logs.
    package var summary: String {
        let figures = figures.sorted { $0.key < $1.key }.map { name, value in
            "\(name) \(value == value.rounded() ? String(Int(value)) : String(format: "%.1f", value))"
        }
        return "hostile: \(scenario): \(figures.joined(separator: ", "))"
    }
}
