import CleanSlate
import Foundation
import ScopedNet
import ScopedNetImages
import ScopedNetTesting
import Testing

/// The articles of ScopedNetImages.docc: their samples are compiled, their links lead somewhere, and the catalog names all public types.
@Suite(.leavesNothing) struct ImageDocumentationTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    private static let catalog = "Sources/ScopedNetImages/ScopedNetImages.docc"
    private static let articles: [String] = {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: root.appending(path: catalog).path)) ?? []
        return names.filter { $0.hasSuffix(".md") }.sorted()
    }()

    private static func text(_ file: String) throws -> String { try String(contentsOf: root.appending(path: file), encoding: .utf8) }

    private static func lines(of text: String) -> [String] {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { $0.trimmingCharacters(in: .whitespaces) }
    }

    /// The fenced Swift of an article, line by line, without indentation. Samples of other libraries are fenced as text.
    private static func samples(of article: String) throws -> [[String]] {
        var samples: [[String]] = []
        var sample: [String]?
        for line in lines(of: try text("\(catalog)/\(article)")) {
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
        #expect(Self.articles == ["FromOtherImageLibraries.md", "LoadingImages.md", "ScopedNetImages.md", "UntrustedImages.md"])
        #expect(try Self.articles.map { try Self.samples(of: $0).count }.reduce(0, +) >= 15)
    }

    @Test(arguments: articles) func samplesStandInTheSourceWordForWord(_ article: String) throws {
        let source =
            try "\n" + Self.lines(of: Self.text("Tests/ScopedNetImagesTests/ImageDocumentationSamples.swift")).joined(separator: "\n")
        for sample in try Self.samples(of: article) {
            let isThere = source.contains("\n" + sample.joined(separator: "\n") + "\n")
            #expect(isThere, "\(article) shows something that is not compiled: \(sample.first ?? "")")
        }
    }

    @Test(arguments: articles) func linksLeadSomewhere(_ article: String) throws {
        for match in try Self.text("\(Self.catalog)/\(article)").matches(of: /<doc:([^>]+)>/) {
            #expect(Self.articles.contains("\(match.1).md"), "\(article) links to \(match.1)")
        }
    }

    @Test func theCatalogNamesAllPublicTypes() throws {
        let page = try Self.text("\(Self.catalog)/ScopedNetImages.md")
        let sources = Self.root.appending(path: "Sources/ScopedNetImages")
        let names = FileManager.default.enumerator(atPath: sources.path)?.compactMap { $0 as? String } ?? []
        var count = 0
        for name in names where name.hasSuffix(".swift") {
            let source = try String(contentsOf: sources.appending(path: name), encoding: .utf8)
            for match in source.matches(of: /public (?:final )?(?:struct|class|enum|protocol|actor) (\w+)/) {
                count += 1
                let isNamed = page.contains("``\(match.1)``") || page.contains("/\(match.1)``")
                #expect(isNamed, "ScopedNetImages.md does not name \(match.1), of \(name)")
            }
        }
        #expect(count > 40)
    }

    // MARK: Samples at work

    private static func file(_ name: String) throws -> Data {
        try Data(contentsOf: URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures/\(name)"))
    }

    @Test func theProcessorOfTheArticleMakesGrey() throws {
        let red = try DecodedImage(width: 2, height: 1) { pixels in
            for place in [0, 4] { (pixels[place], pixels[place + 3]) = (255, 128) }
        }
        let grey = try Greyscale().process(red).withPixels { Array($0) }
        #expect(grey == [53, 53, 53, 128, 53, 53, 53, 128])
    }

    @Test func filesAreJudgedByTheirHeaders() throws {
        let walk = try Self.file("walk.gif")
        #expect(try check(walk) == "image/gif, 19 × 13")
        #expect(throws: ImageError.unknownFormat) { try check(Data(repeating: 65, count: 100)) }
    }

    @Test func errorsHaveSentences() {
        #expect(explanation(of: .cancelled) == nil)
        #expect(explanation(of: .image(.unsupported(.avif))) == "This program cannot show image/avif.")
        #expect(explanation(of: .image(.exceeds(.pixels, actual: 2, most: 1))) == "The picture is too large.")
        #expect(explanation(of: .image(.unknownFormat)) == "The file is damaged, or no picture.")
        #expect(explanation(of: .processing(CancellationError())) == "The picture could not be made.")
    }

    @Test @MainActor func aRowShowsItsPictureAndDropsItsLoad() async throws {
        let session = MockTransport.session("http://photos.test/", unanswered: .wait)
        let images = makeImages(for: session)
        let row = PhotoRow()
        row.show("waiting", from: images)
        row.becameVisible()
        row.prepareForReuse()
        #expect(row.picture == nil && row.caption.isEmpty)
        await session.shutdown()
    }
}
