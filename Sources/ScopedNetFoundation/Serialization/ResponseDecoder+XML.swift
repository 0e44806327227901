internal import Foundation
public import FoundationXML
public import ScopedNet

extension ResponseDecoder {
    /// XML read piece by piece by a parser (RFC 7303): `application/xml`, `text/xml` and what ends in `+xml`.
    ///
    /// The parser has not begun: give it a delegate, call `parse()`, and make the value of what the delegate has seen. It resolves no external
    /// entities unless told to, which a document from a stranger should never do. An empty body is an `NetworkError.EmptyBody`.
    ///
    /// The closure is called on the work executor. A parser that found the document malformed says so by `parserError`; throw it.
    /// Foundation's parser on Linux does not notice that a document ends too early (Swift 6.3): look whether the last element has ended, or
    /// take ``xmlDocument(options:_:)``.
    public static func xmlParser(_ read: @escaping @Sendable (XMLParser) throws -> Value) -> ResponseDecoder {
        ResponseDecoder(accepting: xmlTypes) { _, body in
            if body.isEmpty { throw NetworkError.EmptyBody(expected: "an XML document") }
            return try read(XMLParser(data: body))
        }
    }

    /// XML as a tree: `application/xml`, `text/xml` and what ends in `+xml`.
    ///
    /// What the document itself says of its encoding counts, not the field's `charset`. An empty body is an `NetworkError.EmptyBody`, one that is not well-formed a ``MalformedXMLError``. External entities are never loaded.
    ///
    /// - Parameters:
    ///   - options: of the document. Default: none.
    ///   - read: makes the value of the tree, which itself cannot leave the work executor.
    /// - Returns: a decoder for the value that `read` makes.
    public static func xmlDocument(
        options: XMLNode.Options = [], _ read: @escaping @Sendable (XMLDocument) throws -> Value
    ) -> ResponseDecoder {
        ResponseDecoder(accepting: xmlTypes) { _, body in
            // XMLDocument crashes on nothing, and takes what is malformed for a document that ends there (Swift 6.3).
            if body.isEmpty { throw NetworkError.EmptyBody(expected: "an XML document") }
            try WellFormedness.check(body)
            return try read(XMLDocument(data: body, options: options.subtracting(loading).union(.nodeLoadExternalEntitiesNever)))
        }
    }
}

/// A body that is not well-formed XML (XML 1.0 section 2.1).
public struct MalformedXMLError: Error, CustomStringConvertible {
    /// Counts from 1; 0 where the document just ends too early.
    public let line: Int
    /// Counts from 1; 0 where the document just ends too early.
    public let column: Int

    /// The place of the mistake. Nothing of the document is shown.
    public var description: String {
        line == 0 ? "the XML document ends too early" : "the XML document is not well-formed at line \(line), column \(column)"
    }
}

/// Reads a document through, for nothing but to know that it can be read.
private final class WellFormedness: NSObject, XMLParserDelegate {
    private var depth = 0
    private var hasRoot = false

    static func check(_ body: Data) throws(MalformedXMLError) {
        let parser = XMLParser(data: body)
        let reader = WellFormedness()
        parser.delegate = reader
        guard parser.parse() else { throw MalformedXMLError(line: max(1, parser.lineNumber), column: parser.columnNumber) }
        guard reader.hasRoot, reader.depth == 0 else { throw MalformedXMLError(line: 0, column: 0) }
    }

    func parser(
        _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?, attributes: [String: String]
    ) {
        hasRoot = true
        depth += 1
    }

    func parser(_ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?) { depth -= 1 }
}

private let xmlTypes = ["application/xml", "text/xml", "*/*+xml"]
private let loading: XMLNode.Options = [.nodeLoadExternalEntitiesAlways, .nodeLoadExternalEntitiesSameOriginOnly]
