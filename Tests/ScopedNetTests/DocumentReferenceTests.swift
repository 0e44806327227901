import CleanSlate
import Foundation
import Testing

/// What the documents refer to is there: a document that names a test nobody finds misleads.
@Suite(.leavesNothing) struct DocumentReferenceTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private static func files(in folder: String, _ suffix: String) -> [String] {
        let names = FileManager.default.enumerator(atPath: root.appending(path: folder).path)?.compactMap { $0 as? String } ?? []
        return names.filter { $0.hasSuffix(suffix) }.map { "\(folder)/\($0)" }.sorted()
    }

    private static func text(of file: String) throws -> String {
        try String(contentsOf: root.appending(path: file), encoding: .utf8)
    }

    private static let catalog = "Sources/ScopedNet/ScopedNet.docc"
    private static let articles = files(in: catalog, ".md")
    private static let documents = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"] + files(in: "docs", ".md") + articles

    @Test func theDocumentsAreFound() {
        #expect(Self.documents.contains("docs/semantics.md") && Self.documents.contains("docs/model.md") && Self.articles.count >= 5)
    }

    /// `SomeTests` is a suite, `SomeTests.aName` a test in a file of that suite.
    @Test func testsNamedInDocumentsExist() throws {
        var functions: [String: Set<String>] = [:]
        for file in Self.files(in: "Tests", ".swift") {
            let text = try Self.text(of: file)
            let names = text.matches(of: /func (\w+)\(/).map { String($0.1) }
            for suite in text.matches(of: /\b(?:struct|enum|class|extension) (\w+Tests)\b/) {
                functions[String(suite.1), default: []].formUnion(names)
            }
        }
        var count = 0
        for document in Self.documents {
            for match in try Self.text(of: document).matches(of: /`([A-Z]\w*Tests)(?:\.(\w+))?`/) {
                count += 1
                let suite = functions[String(match.1)]
                // Test targets are named like suites.
                let isTarget = FileManager.default.fileExists(atPath: Self.root.appending(path: "Tests/\(match.1)").path)
                #expect(suite != nil || isTarget, "\(document): there is no suite \(match.1)")
                if let test = match.2, test != "swift" {
                    #expect(suite?.contains(String(test)) == true, "\(document): there is no test \(match.1).\(test)")
                }
            }
        }
        #expect(count > 100)
    }

    /// Each row of what is promised about earlier systems' behaviour is shown by something.
    @Test func everyRowIsShownByATest() throws {
        let rows = try Self.text(of: "docs/semantics.md").split(separator: "\n").filter {
            $0.hasPrefix("| ") && !$0.hasPrefix("| id") && !$0.hasPrefix("| #")
        }
        #expect(rows.count > 40)
        for row in rows {
            let shown = row.split(separator: "|").last { !$0.allSatisfy { $0 == " " } } ?? ""
            #expect(shown.contains("Tests"), "\(row.prefix(60))")
        }
    }

    @Test func linksBetweenArticlesLeadSomewhere() throws {
        for article in Self.articles {
            for match in try Self.text(of: article).matches(of: /<doc:([^>]+)>/) {
                #expect(Self.articles.contains("\(Self.catalog)/\(match.1).md"), "\(article) links to \(match.1)")
            }
        }
    }

    /// What an article of the catalog names as its sources is there.
    @Test func sourcesNamedByArticlesExist() throws {
        var count = 0
        for article in Self.articles {
            for match in try Self.text(of: article).matches(
                of: /`((?:[A-Z]\w+\/)+[\w+]+\.swift)`/)
            {
                count += 1
                let isThere = ["Sources/ScopedNet", "Sources"].contains { folder in
                    FileManager.default.fileExists(atPath: Self.root.appending(path: "\(folder)/\(match.1)").path)
                }
                #expect(isThere, "\(article) names \(match.1)")
            }
        }
        #expect(count > 15)
    }

    /// Links to files of this repository.
    @Test func linkedFilesExist() throws {
        for document in Self.documents {
            let folder = Self.root.appending(path: document).deletingLastPathComponent()
            for match in try Self.text(of: document).matches(of: /\]\(([^)#\s]+)\)/) where !match.1.contains("://") {
                #expect(
                    FileManager.default.fileExists(atPath: folder.appending(path: String(match.1)).path), "\(document) links to \(match.1)")
            }
        }
    }
}
