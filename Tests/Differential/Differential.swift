import Foundation
import Glibc

/// Plays the exchanges of the table through ScopedNet, the curl tool and URLSession, and wants a reason for every difference.
///
///     Differential DOCUMENT [GROUP]
///
/// The status is 1 when a difference has no row in the document, or a row has no difference.
@main
struct Differential {
    static func main() async throws {
        let words = Array(CommandLine.arguments.dropFirst())
        if words.first == "urlsession", words.count == 2 { return try await URLSessionWorker.run(words[1]) }
        guard let document = words.first, let text = try? String(contentsOfFile: document, encoding: .utf8) else {
            say("usage: Differential docs/differential.md [GROUP]")
            exit(2)
        }
        let group = words.dropFirst().first
        let exchanges = ExchangeTable.all.filter { group == nil || $0.id.hasPrefix(group ?? "") }
        guard Set(exchanges.map(\.id)).count == exchanges.count else {
            say("✘ two exchanges have one name")
            exit(2)
        }
        var report = Report(Explanations(text), isWhole: group == nil)
        let clients: [any Client] = [ScopedNetClient(), CurlClient(), URLSessionClient()]
        var stages: [Stage] = []
        for client in clients { stages.append(try await Stage(client)) }
        for (number, exchange) in exchanges.enumerated() {
            let outcomes = try await play(exchange, exchange.proxy == nil ? stages : Array(stages.prefix(2)))
            report.take(exchange.id, Difference.all(exchange.id, outcomes), outcomes)
            if (number + 1).isMultiple(of: 50) { say("differential: \(number + 1) of \(exchanges.count) exchanges") }
        }
        for stage in stages { await stage.stop() }
        say(report.summary)
        exit(report.isGood ? 0 : 1)
    }

    /// Side by side: each client has servers of its own.
    private static func play(_ exchange: Exchange, _ stages: [Stage]) async throws -> [(client: String, outcome: Stage.Outcome)] {
        try await withThrowingTaskGroup(of: (Int, Stage.Outcome).self) { group in
            for (index, stage) in stages.enumerated() { group.addTask { (index, try await stage.play(exchange)) } }
            var outcomes: [Int: Stage.Outcome] = [:]
            for try await (index, outcome) in group { outcomes[index] = outcome }
            return stages.enumerated().compactMap { index, stage in outcomes[index].map { (stage.client.name, $0) } }
        }
    }
}
