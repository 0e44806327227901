public import FoundationEssentials
public import HTTPTypes

/// Puts the parameters of a request where its method wants them: into the URL for GET, HEAD and DELETE, into the body for the others. (pure)
///
/// A value: change a copy, and nobody else's requests change. A `Content-Type` of the request or the session goes before the serializer's own.
public struct ParameterSerializer: Sendable {
    private enum Format: Sendable {
        case form(String.Encoding)
        case json(JSONEncoder.OutputFormatting)
        case custom(contentType: String, @Sendable (Parameters) throws -> Data)
    }

    private let format: Format
    /// The methods whose parameters go into the URL. Names are compared without regard to case. Default: GET, HEAD, DELETE.
    public var methodsInURL: Set<HTTPRequest.Method> = [.get, .head, .delete]
    /// How parameters are written in URLs and forms.
    public var query = QuerySerializer.standard

    private init(_ format: Format) { self.format = format }

    /// `application/x-www-form-urlencoded`. A request without parameters has an empty body of that type.
    public static let form = ParameterSerializer(.form(.utf8))

    /// A form whose bytes are in another encoding than UTF-8.
    ///
    /// The encoding makes a difference only for a ``query`` of your own that leaves letters unescaped; what has no form in it is
    /// `invalidParameters`.
    public static func form(encoding: String.Encoding) -> ParameterSerializer { ParameterSerializer(.form(encoding)) }

    /// `application/json`, members in ascending order. A request without parameters has neither body nor type.
    public static let json = json(formatting: .sortedKeys)

    /// A JSON document with formatting of your own: `.withoutEscapingSlashes`, say; a slash is written `\/` without it.
    public static func json(formatting: JSONEncoder.OutputFormatting) -> ParameterSerializer { ParameterSerializer(.json(formatting)) }

    /// A format of your own. A request without parameters has neither body nor type.
    ///
    /// The closure makes the body; it runs where the request is made. What it throws is the `underlying` error of `invalidParameters`.
    public static func custom(contentType: String, _ write: @escaping @Sendable (Parameters) throws -> Data) -> ParameterSerializer {
        ParameterSerializer(.custom(contentType: contentType, write))
    }

    /// What a request becomes.
    public struct Output: Sendable {
        /// The URL, with the parameters in its query where the method wants them there.
        public var url: String
        /// Nil where the parameters are in the URL, or where there is nothing to send.
        public var body: RequestBody?
    }

    /// Writes parameters into a URL or a body.
    ///
    /// - Parameters:
    ///   - parameters: nil for a request without; an empty set is none in a URL, and an empty form or object in a body.
    ///   - method: decides about the place: the URL for GET, HEAD and DELETE, else the body.
    ///   - url: absolute, or relative to what it will be resolved against.
    /// - Returns: the URL and the body to send.
    /// - Throws: ``NetworkError`` with code `invalidParameters`.
    public func serialize(_ parameters: Parameters?, method: HTTPRequest.Method, url: String) throws(NetworkError) -> Output {
        try parameters?.check()
        if isInURL(method) {
            guard let parameters else { return Output(url: url) }
            return Output(url: try query.appending(parameters, to: url))
        }
        switch format {
        case .form(let encoding): return Output(url: url, body: try form(parameters, encoding))
        case .json(let formatting):
            guard let parameters else { return Output(url: url) }
            return Output(url: url, body: try .encoded(JSONValue(parameters), by: Self.encoder(formatting)))
        case .custom(let contentType, let write):
            guard let parameters else { return Output(url: url) }
            do { return Output(url: url, body: try .checked(write(parameters), contentType: contentType)) } catch let error as NetworkError
            {
                throw error
            } catch {
                throw .invalidParameters("the parameters could not be written as \(contentType)", underlying: error)
            }
        }
    }

    private func isInURL(_ method: HTTPRequest.Method) -> Bool {
        let name = method.rawValue.uppercased()
        return methodsInURL.contains { $0.rawValue.uppercased() == name }
    }

    private func form(_ parameters: Parameters?, _ encoding: String.Encoding) throws(NetworkError) -> RequestBody {
        let text = try parameters.map { parameters throws(NetworkError) in try query.string(from: parameters) } ?? ""
        guard let data = text.data(using: encoding) else { throw .invalidParameters("the form has letters its encoding has not") }
        return try .checked(data, contentType: RequestBody.formType)
    }

    private static func encoder(_ formatting: JSONEncoder.OutputFormatting) -> JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = formatting
        return encoder
    }
}
