import CleanSlate
import Foundation
import Testing

/// Every suite leaves the process as it found it, and says so: one that forgets the trait is found here.
@Suite(.leavesNothing) struct SuiteTraitTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()

    private static let sources: [(name: String, text: String)] = {
        let names = FileManager.default.enumerator(atPath: root.path)?.compactMap { $0 as? String } ?? []
        return names.filter { $0.hasSuffix(".swift") }.sorted().compactMap { name in
            (try? String(contentsOf: root.appending(path: name), encoding: .utf8)).map { (name, $0) }
        }
    }()

    /// The suites of a text without the trait. `@Suite` may stand on the line before its type.
    static func suitesWithoutTrait(in text: String) -> [String] {
        var bare: [String] = []
        for match in text.matches(of: /(?m)^(@\w+ )*(@Suite(?<traits>\(.*\))?\s+)?(@MainActor )?(final )?(struct|class|enum|actor) (?<name>\w+)/) {
            let rest = text[match.range.upperBound...]
            let body = rest.prefix(upTo: rest.range(of: "\n}")?.lowerBound ?? rest.endIndex)
            let isSuite = match.output.0.contains("@Suite") || body.contains(/\n {4}@Test\b|\n {4}@MainActor @Test\b/)
            let traits = match.output.traits ?? ""
            if isSuite, !traits.contains(".leavesNothing") { bare.append(String(match.output.name)) }
        }
        return bare
    }

    @Test func everySuiteHasTheTrait() {
        let sources = Self.sources
        #expect(sources.count > 100)
        for source in sources {
            let bare = Self.suitesWithoutTrait(in: source.text)
            #expect(bare.isEmpty, "\(source.name): \(bare.joined(separator: ", "))")
        }
    }

    @Test func aSuiteWithoutTheTraitIsFound() {
        let with = "@Suite(.leavesNothing, .serialized)\nstruct ATests {\n    @Test func a() {}\n}\n"
        let without = "@Suite(.serialized) struct BTests {\n    @Test func b() {}\n}\n"
        let plain = "struct CTests {\n    @Test func c() {}\n}\n"
        let none = "struct Helper {\n    func d() {}\n}\n"
        let found = Self.suitesWithoutTrait(in: with + without + plain + none)
        #expect(found == ["BTests", "CTests"])
    }
}
