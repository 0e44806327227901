import CleanSlate
import Foundation
import FoundationXML
import ScopedNet
import ScopedNetFoundation
import Testing

/// httpbin's XML document, as a tree and element by element.
@Suite(.leavesNothing, .serialized, .enabled(if: Servers.httpbin.http != nil, Servers.whyNoHTTPBin), .timeLimit(.minutes(2)))
struct HTTPBinXMLTests {
    private struct Show: Sendable, Equatable {
        var element: String?
        var author: String?
        var titles: [String?]
    }

    /// The names of elements, as they begin.
    private final class Elements: NSObject, XMLParserDelegate {
        var names: [String] = []
        func parser(
            _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?, attributes: [String: String]
        ) { names.append(name) }
    }

    private struct Malformed: Error {}

    private static let tree = ResponseDecoder<Show>.xmlDocument { document in
        let root = document.rootElement()
        let slides = root?.elements(forName: "slide") ?? []
        return Show(
            element: root?.name, author: root?.attribute(forName: "author")?.stringValue,
            titles: slides.map { $0.elements(forName: "title").first?.stringValue })
    }

    private static let elements = ResponseDecoder<[String]>.xmlParser { parser in
        let elements = Elements()
        parser.delegate = elements
        guard parser.parse() else { throw parser.parserError ?? Malformed() }
        return elements.names
    }

    private let session = Servers.session()
    private func url(_ path: String) -> String { Servers.httpbinURL + path }

    @Test func aDocumentBecomesATree() async throws {
        let show = try await session.request(url("/xml"), decoder: Self.tree).value()
        #expect(show == Show(element: "slideshow", author: "Yours Truly", titles: ["Wake up to WonderWidgets!", "Overview"]))
    }

    @Test func aDocumentIsReadElementByElement() async throws {
        let names = try await session.request(url("/xml"), decoder: Self.elements).value()
        let slides = names.count { $0 == "slide" }
        #expect(names.first == "slideshow")
        #expect(slides == 2)
    }

    @Test func aPageIsNoDocument() async throws {
        let error = try await session.request(url("/html"), decoder: Self.tree).failure()
        #expect(error.code == .unacceptableContentType)
    }
}
