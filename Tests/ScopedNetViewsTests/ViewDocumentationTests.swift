import CleanSlate
import Foundation
import ScopedNet
import ScopedNetImages
import ScopedNetTesting
import ScopedNetViews
import Testing

/// The articles of ScopedNetViews.docc: their samples are compiled, and their links lead somewhere.
@Suite(.leavesNothing) struct ViewDocumentationTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    private static let catalog = "Sources/ScopedNetViews/ScopedNetViews.docc"
    private static let articles = ["BindingViews.md", "ScopedNetViews.md"]

    private static func lines(of file: String) throws -> [String] {
        try String(contentsOf: root.appending(path: file), encoding: .utf8)
            .split(separator: "\n", omittingEmptySubsequences: false).map { $0.trimmingCharacters(in: .whitespaces) }
    }

    /// The fenced Swift of an article, line by line, without indentation.
    private static func samples(of article: String) throws -> [[String]] {
        var samples: [[String]] = []
        var sample: [String]?
        for line in try lines(of: "\(catalog)/\(article)") {
            if line == "```swift" {
                sample = []
            } else if line == "```", let complete = sample {
                samples.append(complete)
                sample = nil
            } else {
                sample?.append(line)
            }
        }
        return samples
    }

    @Test func theCatalogIsComplete() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.root.appending(path: Self.catalog).path)
        #expect(names.sorted() == Self.articles)
        #expect(try Self.articles.map { try Self.samples(of: $0).count } == [4, 2])
    }

    @Test(arguments: articles) func samplesStandInTheSourceWordForWord(_ article: String) throws {
        let source = try "\n" + Self.lines(of: "Tests/ScopedNetViewsTests/ViewDocumentationSamples.swift").joined(separator: "\n")
        for sample in try Self.samples(of: article) {
            let isThere = source.contains("\n" + sample.joined(separator: "\n") + "\n")
            #expect(isThere, "\(article) shows something that is not compiled: \(sample.first ?? "")")
        }
    }

    @Test(arguments: articles) func linksLeadSomewhere(_ article: String) throws {
        for match in try Self.lines(of: "\(Self.catalog)/\(article)").joined(separator: "\n").matches(of: /<doc:([^>]+)>/) {
            #expect(Self.articles.contains("\(match.1).md"), "\(article) links to \(match.1)")
        }
    }

    // MARK: Samples at work

    @Test @MainActor func aCellShowsItsPicture() async throws {
        let test = ViewTest(unanswered: .fail)
        test.mock.on("photo", ViewTest.reply(red: 7))
        test.mock.on("gone", .status(404))
        let cell = PhotoCell(test.images)
        cell.show("photo")
        await test.settle()
        #expect(cell.picture?.red == 7)
        show("gone", without: try ViewTest.image(red: 1), in: try #require(cell.slot))
        await test.settle()
        #expect(cell.picture?.red == 1 && cell.caption == "This does not exist on the server.")
        await test.end()
    }

    @Test @MainActor func aPageShowsItsDownload() async throws {
        let test = ViewTest()
        test.mock.on("help", .ok("<p>"))
        var text = ""
        let output = TerminalOutput(isTerminal: false) { text += String(decoding: $0, as: UTF8.self) }
        let page = DownloadPage(output)
        page.load(test.session)
        await test.mock.exchange(0).respond(.ok("1234"))
        await test.settle()
        await eventually { text == "image.iso 100 %\n" }
        let view = PageView()
        let slot = PageSlot(for: view)
        showHelp(in: slot, test.session)
        await test.settle()
        #expect(view.pages.map { String(decoding: $0.data, as: UTF8.self) } == ["<base target=\"_blank\"><p>"])
        let (indicator, spinner) = makeIndicator(test.views, output)
        #expect(indicator.isEnabled && !indicator.isVisible)
        withExtendedLifetime(spinner) {}
        await makeSession(test.views).shutdown()
        await test.end()
    }
}
