public import FoundationXML
public import ScopedNet

extension ResponseDecoder {
    /// XML read piece by piece by a parser (RFC 7303): `application/xml`, `text/xml` and what ends in `+xml`.
    ///
    /// The parser has not begun: give it a delegate, call `parse()`, and make the value of what the delegate has seen. It resolves no external
    /// entities unless told to, which a document from a stranger should never do. An empty body is an ``ScopedNet/EmptyBodyError``.
    ///
    /// - Parameter read: called on the work executor. A parser that found the document malformed says so by `parserError`; throw it. Foundation's
    ///   parser on Linux does not notice that a document ends too early (Swift 6.3): look whether the last element has ended, or take
    ///   ``xmlDocument(options:_:)``.
    public static func xmlParser(_ read: @escaping @Sendable (XMLParser) throws -> Value) -> ResponseDecoder {
        ResponseDecoder(accepting: xmlTypes) { _, body in
            if body.isEmpty { throw EmptyBodyError(expected: "an XML document") }
            return try read(XMLParser(data: body))
        }
    }

    /// XML as a tree: `application/xml`, `text/xml` and what ends in `+xml`.
    ///
    /// An empty body and a malformed one are errors; of the latter libxml2 writes a line to standard error, too. External entities are never loaded.
    ///
    /// - Parameters:
    ///   - options: of the document. Default: none.
    ///   - read: makes the value of the tree, which itself cannot leave the work executor.
    public static func xmlDocument(
        options: XMLNode.Options = [], _ read: @escaping @Sendable (XMLDocument) throws -> Value
    ) -> ResponseDecoder {
        ResponseDecoder(accepting: xmlTypes) { _, body in
            // XMLDocument crashes on it (Swift 6.3).
            if body.isEmpty { throw EmptyBodyError(expected: "an XML document") }
            return try read(XMLDocument(data: body, options: options.subtracting(loading).union(.nodeLoadExternalEntitiesNever)))
        }
    }
}

private let xmlTypes = ["application/xml", "text/xml", "*/*+xml"]
private let loading: XMLNode.Options = [.nodeLoadExternalEntitiesAlways, .nodeLoadExternalEntitiesSameOriginOnly]
