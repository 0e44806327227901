public import FoundationEssentials

/// Makes a value of a body. Runs on the work executor: never on the network thread, never on a delivery queue.
public struct ResponseDecoder<Value: Sendable>: Sendable {
    /// The same for runs, which know no value's type.
    package let any: AnyDecoder

    /// - Parameter decode: gets the head and the body, content codings undone. What it throws becomes `decodingFailed`.
    public init(_ decode: @escaping @Sendable (ResponseHead, Data) throws -> Value) {
        any = AnyDecoder(decode, isImmediate: false, wantsBody: true)
    }

    package init(immediately decode: @escaping @Sendable (ResponseHead, Data) throws -> Value, wantsBody: Bool = true) {
        any = AnyDecoder(decode, isImmediate: true, wantsBody: wantsBody)
    }
}

/// A decoder that makes the whole response, so that who calls it need not know what the value is.
package struct AnyDecoder: Sendable {
    package let decode: @Sendable (consuming ResponseParts) throws -> AnyResponse
    /// Costs nothing, so that no hop is needed for it.
    package let isImmediate: Bool
    /// False: the body is read, so that the connection can be used again, but not kept.
    package let wantsBody: Bool

    fileprivate init<Value: Sendable>(
        _ decode: @escaping @Sendable (ResponseHead, Data) throws -> Value, isImmediate: Bool, wantsBody: Bool
    ) {
        self.decode = { (parts: consuming ResponseParts) in
            let value = try decode(parts.head, parts.body)
            return ValuedResponse(value, consume parts)
        }
        self.isImmediate = isImmediate
        self.wantsBody = wantsBody
    }
}

extension ResponseDecoder where Value == Data {
    /// The body as it is.
    public static var data: Self { wholeBody }
}

private let wholeBody = ResponseDecoder<Data>(immediately: { (_: ResponseHead, body: Data) in body })

extension ResponseDecoder where Value == String {
    /// Text in UTF-8 or, by `charset`, ISO-8859-1; what is not valid UTF-8 is replaced (U+FFFD).
    public static var text: ResponseDecoder<String> {
        ResponseDecoder<String>({ (head: ResponseHead, body: Data) in
            let isLatin = head["content-type"]?.lowercased().contains("charset=iso-8859-1") ?? false
            return isLatin ? String(String.UnicodeScalarView(body.map { Unicode.Scalar($0) })) : String(decoding: body, as: UTF8.self)
        })
    }
}

extension ResponseDecoder where Value == ResponseHead {
    /// Only the head matters; the body is read and dropped, whatever its size. Send HEAD (RFC 9110 section 9.3.2) to spare the server the body too.
    public static var head: Self { Self(immediately: { (head: ResponseHead, _: Data) in head }, wantsBody: false) }
}

extension ResponseDecoder where Value: Decodable {
    /// A JSON document (RFC 8259).
    ///
    /// - Parameter decoder: made anew for each response; a `JSONDecoder` is not safe to share.
    public static func json(
        _ type: Value.Type = Value.self, decoder: @escaping @Sendable () -> JSONDecoder = { JSONDecoder() }
    ) -> ResponseDecoder<Value> {
        ResponseDecoder<Value>({ (_: ResponseHead, body: Data) in try decoder().decode(Value.self, from: body) })
    }
}
