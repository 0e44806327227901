public import FoundationEssentials

/// Makes a value of a response. Runs on the work executor: never on the network thread, never on a delivery queue.
///
/// ```swift
/// session.get(url, decoder: .json(shape))
/// session.get(url, decoder: .text(default: "ISO-8859-1"))
/// session.get(url, decoder: .first(of: .json(Page.self), ResponseDecoder<String>.text.map { Page(html: $0) }))
/// session.get(url, decoder: ResponseDecoder { head, body in try Image(body, type: head.mimeType) })
/// ```
///
/// A decoder may expect media types; see ``ContentTypeValidation`` for how to ask for others. When the run is cancelled while it decodes, the
/// value is dropped and nobody hears of it.
public struct ResponseDecoder<Value: Sendable>: Sendable {
    /// The same for runs, which know no value's type.
    package let any: AnyDecoder
    package let make: @Sendable (ResponseHead, Data) throws -> Value
    /// Makes the same decoder for a session's JSON coding; nil where that makes no difference.
    private var adapt: (@Sendable (JSONCoding) -> ResponseDecoder)?
    /// The value of `Accept` that asks for it (RFC 9110 section 12.5.1); nil where nothing is asked for.
    private(set) var mediaType: String?

    /// For responses of every media type.
    ///
    /// - Parameter decode: gets the head and the body, content codings undone. What it throws becomes the `underlying` of `decodingFailed`.
    public init(_ decode: @escaping @Sendable (ResponseHead, Data) throws -> Value) { self.init(decode, types: nil) }

    /// - Parameters:
    ///   - types: the media types it understands, written as in ``ContentTypeValidation/types(_:)``.
    ///   - decode: gets the head and the body, content codings undone. What it throws becomes the `underlying` of `decodingFailed`.
    public init(accepting types: [String], _ decode: @escaping @Sendable (ResponseHead, Data) throws -> Value) {
        self.init(decode, types: types.map { MediaTypePattern($0) })
    }

    package init(
        immediately decode: @escaping @Sendable (ResponseHead, Data) throws -> Value, wantsBody: Bool = true
    ) {
        self.init(decode, types: nil, isImmediate: true, wantsBody: wantsBody)
    }

    /// Makes a decoder for a value that may be a file. `place` gets the path of the file the body was put in; without one, as where
    /// decoders are combined, the body.
    static func placing(_ place: @escaping @Sendable (_ path: String?, Data) -> Value) -> ResponseDecoder {
        ResponseDecoder(make: { _, body in place(nil, body) }, any: AnyDecoder(placing: place))
    }

    private init(make: @escaping @Sendable (ResponseHead, Data) throws -> Value, any: AnyDecoder) {
        self.make = make
        self.any = any
    }

    private init(
        _ decode: @escaping @Sendable (ResponseHead, Data) throws -> Value, types: [MediaTypePattern]?, isImmediate: Bool = false,
        wantsBody: Bool = true
    ) {
        make = decode
        any = AnyDecoder(decode, types: types, isImmediate: isImmediate, wantsBody: wantsBody)
    }

    /// The same decoder by the JSON coding of a session, unless the caller named another.
    package func resolved(with coding: JSONCoding) -> ResponseDecoder {
        guard !coding.isStandard, let adapt else { return self }
        return adapt(coding)
    }

    /// The same decoder, made anew for a session with a JSON coding of its own.
    func adapting(_ adapt: @escaping @Sendable (JSONCoding) -> ResponseDecoder) -> ResponseDecoder {
        var copy = self
        copy.adapt = adapt
        return copy
    }

    /// The same decoder, where responses of a type are asked for.
    func asking(for mediaType: String?) -> ResponseDecoder {
        var copy = self
        copy.mediaType = mediaType
        return copy
    }

    /// The same decoder, its value made into another one.
    public func map<Other: Sendable>(_ transform: @escaping @Sendable (Value) throws -> Other) -> ResponseDecoder<Other> {
        let make = make
        let mapped = ResponseDecoder<Other>({ head, body in try transform(try make(head, body)) }, types: any.types).asking(for: mediaType)
        guard let adapt else { return mapped }
        return mapped.adapting { coding in adapt(coding).map(transform) }
    }

    /// The value of the first that can make one.
    ///
    /// Members whose media types are not the response's are not tried, unless that leaves none, as where ``ContentTypeValidation/any`` lets the
    /// response pass. When none can, the error's `underlying` is a
    /// ``NetworkError/CompoundDecoding`` with what each of them said.
    public static func first(of decoders: ResponseDecoder...) -> ResponseDecoder { first(of: decoders) }

    /// The value of the first that can make one.
    public static func first(of decoders: [ResponseDecoder]) -> ResponseDecoder {
        let types = decoders.compactMap(\.mediaType)
        // One that takes anything is not asked for by the types of the others.
        let asked = types.count == decoders.count && !types.isEmpty ? types.joined(separator: ", ") : nil
        guard decoders.contains(where: { $0.adapt != nil }) else { return trying(decoders).asking(for: asked) }
        return trying(decoders).adapting { coding in trying(decoders.map { $0.resolved(with: coding) }) }.asking(for: asked)
    }

    private static func trying(_ decoders: [ResponseDecoder]) -> ResponseDecoder {
        let types = decoders.map(\.any.types)
        // One that takes everything makes the whole take everything.
        let all = types.contains { $0 == nil } ? nil : types.flatMap { $0 ?? [] }
        return ResponseDecoder(
            { head, body in
                let type = head["content-type"]
                let fitting = decoders.map { decoder in
                    ContentTypeValidation.automatic.accepts(type, status: head.status, isEmpty: body.isEmpty, expected: decoder.any.types)
                }
                let triesAll = !fitting.contains(true)
                var errors: [any Error] = []
                for (decoder, fits) in zip(decoders, fitting) {
                    guard fits || triesAll else {
                        errors.append(NetworkError.unacceptableType(head))
                        continue
                    }
                    do { return try decoder.make(head, body) } catch { errors.append(error) }
                }
                throw NetworkError.CompoundDecoding(errors: errors)
            }, types: all)
    }
}

extension NetworkError {
    /// Why no member of a compound decoder could make a value.
    public struct CompoundDecoding: Error, CustomStringConvertible {
        /// What each member threw, in their order.
        public let errors: [any Error]

        /// The number and error of each decoder, in the order in which they were tried.
        public var description: String {
            errors.isEmpty
                ? "there is no decoder" : errors.enumerated().map { "decoder \($0.offset + 1): \($0.element)" }.joined(separator: "; ")
        }
    }
}

/// A decoder that makes the whole response, so that who calls it need not know what the value is.
package struct AnyDecoder: Sendable {
    package let decode: @Sendable (consuming ResponseParts) throws -> AnyResponse
    /// What it understands; nil for everything.
    package let types: [MediaTypePattern]?
    /// Costs nothing, so that no hop is needed for it.
    package let isImmediate: Bool
    /// False: the body is read, so that the connection can be used again, but not kept.
    package let wantsBody: Bool
    /// The body may as well be in a file.
    package let takesFile: Bool

    fileprivate init<Value: Sendable>(
        _ decode: @escaping @Sendable (ResponseHead, Data) throws -> Value, types: [MediaTypePattern]?, isImmediate: Bool, wantsBody: Bool
    ) {
        self.decode = { (parts: consuming ResponseParts) in
            let value = try decode(parts.head, parts.body)
            return ValuedResponse(value, consume parts)
        }
        self.types = types
        self.isImmediate = isImmediate
        self.wantsBody = wantsBody
        takesFile = false
    }

    fileprivate init<Value: Sendable>(placing place: @escaping @Sendable (String?, Data) -> Value) {
        decode = { (parts: consuming ResponseParts) in
            let value = place(parts.file?.destination, parts.body)
            return ValuedResponse(value, consume parts)
        }
        types = nil
        isImmediate = true
        wantsBody = true
        takesFile = true
    }

    /// The body as it is, of these types.
    static func data(accepting types: [MediaTypePattern]?) -> AnyDecoder {
        if types == nil { return ResponseDecoder.data.any }
        return AnyDecoder({ _, body in body }, types: types, isImmediate: true, wantsBody: true)
    }
}
