public import FoundationEssentials

extension RequestBody {
    static let formType = "application/x-www-form-urlencoded"

    /// Bytes of a named type, which is sent as `Content-Type` unless request or session have one of their own. Can be sent again.
    ///
    /// The type is one such as `text/csv; charset=utf-8`. A text that is no value of a field fails the start with `invalidHeader`.
    public static func data(_ data: Data, contentType: String) -> RequestBody {
        orFailing { () throws(NetworkError) in try checked(data, contentType: contentType) }
    }

    /// A JSON document (`application/json`) of any `Encodable` value. It is encoded where the request is made, on the caller's thread; what
    /// does not encode fails the start with `invalidParameters`. Can be sent again.
    ///
    /// The closure makes the encoder; by default it is that of the session (``Session/Configuration/json``).
    public static func json(_ value: some Encodable & Sendable, encoder: (@Sendable () -> JSONEncoder)? = nil) -> RequestBody {
        RequestBody(
            deferred: DeferredJSON { coding in
                orFailing { () throws(NetworkError) in try encoded(value, by: encoder?() ?? coding.encoder()) }
            })
    }

    /// A JSON document (`application/json`) as written here: `.json(["name": "Anna", "tags": ["a", "b"], "age": 7])`.
    public static func json(_ value: JSONValue) -> RequestBody { json(value, encoder: nil) }

    /// A JSON document (`application/json`) as written here, with variables: `.json(["title": title, "n": n])`.
    @_disfavoredOverload
    public static func json(_ value: JSONLiteral) -> RequestBody { json(value, encoder: nil) }

    /// A form (`application/x-www-form-urlencoded`), its values variables or literals. What cannot be written fails the start with
    /// `invalidParameters`. Can be sent again.
    public static func form(_ parameters: Parameters, query: QuerySerializer = .standard) -> RequestBody {
        orFailing { () throws(NetworkError) in try checked(Data(query.string(from: parameters).utf8), contentType: formType) }
    }

    // Disfavored: a literal is the other one's, so that a nil in it leaves its name out.
    /// A form of the coded members of a value; see ``Parameters/init(_:dates:)``.
    @_disfavoredOverload
    public static func form(
        _ value: some Encodable, dates: Parameters.Dates = .iso8601, query: QuerySerializer = .standard
    ) -> RequestBody {
        orFailing { () throws(NetworkError) in form(try Parameters(value, dates: dates), query: query) }
    }

    /// A mistake in a body is the run's failure, like one in a URL.
    private static func orFailing(_ make: () throws(NetworkError) -> RequestBody) -> RequestBody {
        do throws(NetworkError) { return try make() } catch { return RequestBody(content: .data(Data()), failure: error) }
    }

    static func checked(_ data: Data, contentType: String) throws(NetworkError) -> RequestBody {
        RequestBody(content: .data(data), contentType: try HeaderField.checked("Content-Type", contentType).value)
    }

    static func encoded(_ value: some Encodable, by encoder: JSONEncoder) throws(NetworkError) -> RequestBody {
        do { return RequestBody(content: .data(try encoder.encode(value)), contentType: "application/json") } catch {
            let reason = (error as? EncodingError).map { ": \($0.shortText)" } ?? ""
            throw .invalidParameters("\(type(of: value)) cannot be written as JSON\(reason)", underlying: error)
        }
    }
}
