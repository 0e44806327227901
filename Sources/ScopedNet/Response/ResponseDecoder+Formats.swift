public import FoundationEssentials

extension ResponseDecoder where Value == Data {
    /// The body as it is.
    public static var data: Self { wholeBody }
}

private let wholeBody = ResponseDecoder<Data>(immediately: { (_: ResponseHead, body: Data) in body })

extension ResponseDecoder where Value == ResponseHead {
    /// Only the head matters; the body is read and dropped, whatever its size. Send HEAD (RFC 9110 section 9.3.2) to spare the server the body too.
    public static var head: Self { Self(immediately: { (head: ResponseHead, _: Data) in head }, wantsBody: false) }
}

extension ResponseDecoder where Value == Void {
    /// Nothing of the response matters but that it was accepted; the body is read and dropped, whatever its size.
    public static var discarding: Self { Self(immediately: { (_: ResponseHead, _: Data) in () }, wantsBody: false) }
}

extension ResponseDecoder where Value == String {
    /// Text, in the encoding that a byte order mark or `charset` names, else in UTF-8. What is not valid becomes U+FFFD.
    ///
    /// All encodings of iconv_open(3) are known by their IANA names; `ISO-8859-1` and `US-ASCII` are read as windows-1252, as browsers do
    /// (encoding.spec.whatwg.org).
    public static var text: ResponseDecoder<String> { text(default: "UTF-8") }

    /// Text, in the encoding that a byte order mark or `charset` names, else in `charset`.
    public static func text(default charset: String) -> ResponseDecoder<String> {
        ResponseDecoder<String>({ (head: ResponseHead, body: Data) in
            Charset.text([UInt8](body), named: head.contentType?["charset"] ?? charset)
        })
    }
}

extension NetworkError {
    /// The body is empty, and the value has no form for that.
    public struct EmptyBody: Error, CustomStringConvertible {
        /// The type of the value.
        public let expected: String

        package init(expected: String) { self.expected = expected }

        /// One line that names the type that was expected.
        public var description: String { "the body is empty, and \(expected) was expected" }
    }
}

extension ResponseDecoder where Value: Decodable {
    /// A JSON document (RFC 8259): `application/json`, `text/json`, `text/javascript` and what ends in `+json`.
    ///
    /// An empty body, or one of white space, is nil for an optional value and ``JSONValue/null`` for a ``JSONValue``, and else an
    /// ``NetworkError/EmptyBody``.
    ///
    /// The closure makes the decoder of each response; by default it is that of the session (``Session/Configuration/json``).
    public static func json(_ type: Value.Type = Value.self, decoder: (@Sendable () -> JSONDecoder)? = nil) -> ResponseDecoder<Value> {
        if let decoder { return reading(by: decoder).asking(for: "application/json") }
        return reading(by: JSONCoding.standard.decoder).adapting { reading(by: $0.decoder) }.asking(for: "application/json")
    }

    private static func reading(by decoder: @escaping @Sendable () -> JSONDecoder) -> ResponseDecoder<Value> {
        ResponseDecoder<Value>(
            accepting: jsonTypes,
            { (_: ResponseHead, body: Data) in
                if body.allSatisfy(isJSONSpace) { return try nothing() }
                return try decoder().decode(Value.self, from: body)
            })
    }

    /// A property list, XML or binary: `application/x-plist`.
    ///
    /// An empty body is nil for an optional value, and else an ``NetworkError/EmptyBody``.
    ///
    /// The closure makes the decoder of each response.
    public static func propertyList(
        _ type: Value.Type = Value.self, decoder: @escaping @Sendable () -> PropertyListDecoder = { PropertyListDecoder() }
    ) -> ResponseDecoder<Value> {
        ResponseDecoder<Value>(
            accepting: ["application/x-plist"],
            { (_: ResponseHead, body: Data) in
                if body.isEmpty { return try nothing() }
                return try decoder().decode(Value.self, from: body)
            }
        ).asking(for: "application/x-plist")
    }

    /// What an empty body stands for.
    private static func nothing() throws -> Value {
        if let type = Value.self as? any ExpressibleByNilLiteral.Type, let value = type.init(nilLiteral: ()) as? Value { return value }
        throw NetworkError.EmptyBody(expected: "\(Value.self) (where that may be, ask for \(Value.self)?)")
    }
}

extension ResponseDecoder where Value == JSONValue {
    /// A JSON document without a type of its own.
    ///
    /// - Parameters:
    ///   - shape: what it must look like; what does not is a ``JSONShape/ShapeError``. An empty body is ``JSONValue/null`` all the same. Default:
    ///     anything goes.
    ///   - removesNulls: see ``JSONValue/removingNulls()``; done after the check. Default: false.
    ///   - allowsFragments: true, the default, where a document may be a lone string, number, boolean or null, as RFC 8259 has it.
    /// - Returns: a decoder of ``JSONValue``.
    public static func json(
        _ shape: JSONShape = .any, removesNulls: Bool = false, allowsFragments: Bool = true
    ) -> ResponseDecoder<JSONValue> {
        let plain = ResponseDecoder<JSONValue>.json(JSONValue.self)
        let checked: @Sendable (ResponseDecoder<JSONValue>) -> ResponseDecoder<JSONValue> = { plain in
            ResponseDecoder(accepting: jsonTypes) { (head: ResponseHead, body: Data) in
                // Nothing has no shape.
                if body.allSatisfy(isJSONSpace) { return .null }
                let value = try plain.make(head, body)
                if !allowsFragments, value.isFragment {
                    throw JSONShape.ShapeError(mismatches: [JSONShape.Mismatch(path: "$", expected: "an object or an array", found: value)])
                }
                let mismatches = shape.mismatches(in: value)
                guard mismatches.isEmpty else { throw JSONShape.ShapeError(mismatches: mismatches) }
                return removesNulls ? value.removingNulls() : value
            }
        }
        return checked(plain).adapting { checked(plain.resolved(with: $0)) }.asking(for: "application/json")
    }
}

private let jsonTypes = ["application/json", "text/json", "text/javascript", "*/*+json"]

/// RFC 8259 section 2.
private func isJSONSpace(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") || byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r")
}
