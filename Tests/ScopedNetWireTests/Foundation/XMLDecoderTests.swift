import CleanSlate
import Foundation
import FoundationXML
import ScopedNet
import ScopedNetTestServer
import Testing

@testable import ScopedNetFoundation

/// RES-7: XML by parser and by document.
@Suite(.leavesNothing) struct XMLDecoderTests {
    private final class Titles: NSObject, XMLParserDelegate {
        var names: [String] = []
        func parser(
            _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?, attributes: [String: String]
        ) { names.append(name) }
    }

    private struct Malformed: Error {}

    private static let elements = ResponseDecoder<[String]>.xmlParser { parser in
        let titles = Titles()
        parser.delegate = titles
        guard parser.parse() else { throw parser.parserError ?? Malformed() }
        return titles.names
    }
    private static let root = ResponseDecoder<String>.xmlDocument { document in
        "\(document.rootElement()?.name ?? "-") \(document.rootElement()?.stringValue ?? "-")"
    }

    private func value<Value: Sendable>(
        _ text: String, _ decoder: ResponseDecoder<Value>, type: String = "application/xml"
    ) async throws -> Result<Value, NetworkError> {
        let server = LoopbackServer()
        try await server.start()
        server.on("/", ScriptedResponse(headers: ["Content-Type": type], body: .bytes(Array(text.utf8))))
        let session = Session(configuration: Session.Configuration(agent: RequestAgent()))
        let result: Result<Value, NetworkError>
        do throws(NetworkError) {
            result = .success(try await session.request("http://127.0.0.1:\(server.port)/", decoder: decoder).value())
        } catch { result = .failure(error) }
        await session.agent.waitUntilIdle()
        await server.stop()
        return result
    }

    @Test(arguments: ["application/xml", "text/xml; charset=utf-8", "application/atom+xml"]) func isRead(type: String) async throws {
        let names = try await value("<a><b/><c>x</c></a>", Self.elements, type: type).get()
        #expect(names == ["a", "b", "c"])
        let root = try await value("<a><b/><c>x</c></a>", Self.root, type: type).get()
        #expect(root == "a x")
    }

    @Test(arguments: ["", "<a>", "no xml", "<a></b>"]) func malformedDocumentsAreErrors(text: String) async throws {
        let tree = try await value(text, Self.root)
        #expect(tree.failureCode == .decodingFailed)
        if case .failure(let error) = tree {
            #expect(text.isEmpty ? error.underlying is NetworkError.EmptyBody : error.underlying is MalformedXMLError)
        }
        // One that ends too early looks whole to Foundation's parser.
        guard text != "<a>" else { return }
        let parsed = try await value(text, Self.elements)
        #expect(parsed.failureCode == .decodingFailed)
    }

    @Test func theErrorSaysWhere() async throws {
        let result = try await value("<a>\n<b></c></a>", Self.root)
        guard case .failure(let error) = result else { Issue.record("it was read"); return }
        #expect((error.underlying as? MalformedXMLError)?.line == 2)
        #expect(MalformedXMLError(line: 0, column: 0).description.contains("too early"))
    }

    @Test func anotherTypeIsNotRead() async throws {
        let parsed = try await value("<html/>", Self.elements, type: "text/html")
        #expect(parsed.failureCode == .unacceptableContentType)
    }

    /// A document from a stranger reads no file of this machine.
    @Test func externalEntitiesAreNotLoaded() async throws {
        let text = "<?xml version=\"1.0\"?><!DOCTYPE a [<!ENTITY e SYSTEM \"file:///etc/passwd\">]><a>&e;</a>"
        let tree = try await value(text, Self.root)
        let root = try tree.get()
        #expect(!root.contains("root:"))
        let options = ResponseDecoder<String>.xmlDocument(options: .nodeLoadExternalEntitiesAlways) { $0.stringValue ?? "" }
        let asked = try await value(text, options)
        let other = try asked.get()
        #expect(!other.contains("root:"))
    }
}

extension Result where Failure == NetworkError {
    fileprivate var failureCode: NetworkError.Code? {
        if case .failure(let error) = self { error.code } else { nil }
    }
}
