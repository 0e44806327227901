public import FoundationEssentials
public import HTTPTypes

extension Session {
    /// A request of any method, which is called like a function: `session.request("login", method: .post, form: ["name": name])`.
    public struct AnyVerb: Sendable {
        let session: Session

        /// Sends a body, or none.
        public func callAsFunction<Value: Decodable & Sendable>(
            _ url: some URLConvertible, method: HTTPRequest.Method = .get, query: Parameters = [:], headers: HeaderFields = [:],
            body: RequestBody? = nil,
            as type: Value.Type = Data.self, fileID: StaticString = #fileID, line: Int = #line
        ) -> Request<Value> {
            session.make(method, url, query, headers, body, .reading(type), CodeOrigin(fileID, line))
        }

        /// Sends a body, or none; what is answered does not matter.
        public func callAsFunction(
            _ url: some URLConvertible, method: HTTPRequest.Method = .get, query: Parameters = [:], headers: HeaderFields = [:],
            body: RequestBody? = nil,
            as type: Void.Type, fileID: StaticString = #fileID, line: Int = #line
        ) -> Request<Void> {
            session.make(method, url, query, headers, body, .discarding, CodeOrigin(fileID, line))
        }

        /// Sends a body, or none; the value is what `decoder` makes of the response.
        public func callAsFunction<Value: Sendable>(
            _ url: some URLConvertible, method: HTTPRequest.Method = .get, query: Parameters = [:], headers: HeaderFields = [:],
            body: RequestBody? = nil,
            decoder: ResponseDecoder<Value>, fileID: StaticString = #fileID, line: Int = #line
        ) -> Request<Value> {
            session.make(method, url, query, headers, body, decoder, CodeOrigin(fileID, line))
        }

        /// Sends a value as JSON, by the session's coding.
        public func callAsFunction<Value: Decodable & Sendable, JSON: Encodable & Sendable>(
            _ url: some URLConvertible, method: HTTPRequest.Method = .get, query: Parameters = [:], headers: HeaderFields = [:],
            json value: JSON,
            as type: Value.Type = Data.self, fileID: StaticString = #fileID, line: Int = #line
        ) -> Request<Value> {
            session.make(method, url, query, headers, .json(value), .reading(type), CodeOrigin(fileID, line))
        }

        /// Sends a value as JSON, by the session's coding; what is answered does not matter.
        public func callAsFunction<JSON: Encodable & Sendable>(
            _ url: some URLConvertible, method: HTTPRequest.Method = .get, query: Parameters = [:], headers: HeaderFields = [:],
            json value: JSON,
            as type: Void.Type, fileID: StaticString = #fileID, line: Int = #line
        ) -> Request<Void> {
            session.make(method, url, query, headers, .json(value), .discarding, CodeOrigin(fileID, line))
        }

        /// Sends a value as JSON, by the session's coding; the value is what `decoder` makes of the response.
        public func callAsFunction<Value: Sendable, JSON: Encodable & Sendable>(
            _ url: some URLConvertible, method: HTTPRequest.Method = .get, query: Parameters = [:], headers: HeaderFields = [:],
            json value: JSON,
            decoder: ResponseDecoder<Value>, fileID: StaticString = #fileID, line: Int = #line
        ) -> Request<Value> {
            session.make(method, url, query, headers, .json(value), decoder, CodeOrigin(fileID, line))
        }

        /// Sends JSON as it is written here, with variables: `json: ["id": id, "up": true]`.
        @_disfavoredOverload
        public func callAsFunction<Value: Decodable & Sendable>(
            _ url: some URLConvertible, method: HTTPRequest.Method = .get, query: Parameters = [:], headers: HeaderFields = [:],
            json value: JSONLiteral,
            as type: Value.Type = Data.self, fileID: StaticString = #fileID, line: Int = #line
        ) -> Request<Value> {
            session.make(method, url, query, headers, .json(value), .reading(type), CodeOrigin(fileID, line))
        }

        /// Sends JSON as it is written here, with variables: `json: ["id": id, "up": true]`; what is answered does not matter.
        @_disfavoredOverload
        public func callAsFunction(
            _ url: some URLConvertible, method: HTTPRequest.Method = .get, query: Parameters = [:], headers: HeaderFields = [:],
            json value: JSONLiteral,
            as type: Void.Type, fileID: StaticString = #fileID, line: Int = #line
        ) -> Request<Void> {
            session.make(method, url, query, headers, .json(value), .discarding, CodeOrigin(fileID, line))
        }

        /// Sends JSON as it is written here, with variables: `json: ["id": id, "up": true]`; the value is what `decoder` makes of the response.
        @_disfavoredOverload
        public func callAsFunction<Value: Sendable>(
            _ url: some URLConvertible, method: HTTPRequest.Method = .get, query: Parameters = [:], headers: HeaderFields = [:],
            json value: JSONLiteral,
            decoder: ResponseDecoder<Value>, fileID: StaticString = #fileID, line: Int = #line
        ) -> Request<Value> {
            session.make(method, url, query, headers, .json(value), decoder, CodeOrigin(fileID, line))
        }

        /// Sends a form, with variables: `form: ["name": name]`.
        public func callAsFunction<Value: Decodable & Sendable>(
            _ url: some URLConvertible, method: HTTPRequest.Method = .get, query: Parameters = [:], headers: HeaderFields = [:],
            form: Parameters,
            as type: Value.Type = Data.self, fileID: StaticString = #fileID, line: Int = #line
        ) -> Request<Value> {
            session.make(method, url, query, headers, .form(form), .reading(type), CodeOrigin(fileID, line))
        }

        /// Sends a form, with variables: `form: ["name": name]`; what is answered does not matter.
        public func callAsFunction(
            _ url: some URLConvertible, method: HTTPRequest.Method = .get, query: Parameters = [:], headers: HeaderFields = [:],
            form: Parameters,
            as type: Void.Type, fileID: StaticString = #fileID, line: Int = #line
        ) -> Request<Void> {
            session.make(method, url, query, headers, .form(form), .discarding, CodeOrigin(fileID, line))
        }

        /// Sends a form, with variables: `form: ["name": name]`; the value is what `decoder` makes of the response.
        public func callAsFunction<Value: Sendable>(
            _ url: some URLConvertible, method: HTTPRequest.Method = .get, query: Parameters = [:], headers: HeaderFields = [:],
            form: Parameters,
            decoder: ResponseDecoder<Value>, fileID: StaticString = #fileID, line: Int = #line
        ) -> Request<Value> {
            session.make(method, url, query, headers, .form(form), decoder, CodeOrigin(fileID, line))
        }

        // MARK: Parameters by the method's custom

        /// Makes a request whose parameters go where its method wants them: into the URL, or as a form, as JSON, … into the body.
        ///
        /// `parameters` are nil for none; see ``ParameterSerializer/serialize(_:method:url:)`` for the difference to an empty set.
        public func callAsFunction<Value: Decodable & Sendable>(
            _ url: some URLConvertible, method: HTTPRequest.Method, parameters: Parameters?, by serializer: ParameterSerializer,
            headers: HeaderFields = [:], as type: Value.Type = Data.self, fileID: StaticString = #fileID, line: Int = #line
        ) -> Request<Value> {
            self(
                url, method: method, parameters: parameters, by: serializer, headers: headers, decoder: .reading(type), fileID: fileID,
                line: line)
        }

        /// Makes a request whose parameters go where its method wants them; what is answered does not matter.
        public func callAsFunction(
            _ url: some URLConvertible, method: HTTPRequest.Method, parameters: Parameters?, by serializer: ParameterSerializer,
            headers: HeaderFields = [:], as type: Void.Type, fileID: StaticString = #fileID, line: Int = #line
        ) -> Request<Void> {
            self(
                url, method: method, parameters: parameters, by: serializer, headers: headers, decoder: .discarding, fileID: fileID,
                line: line)
        }

        /// Makes a request whose parameters go where its method wants them; the value is what `decoder` makes of the response.
        public func callAsFunction<Value: Sendable>(
            _ url: some URLConvertible, method: HTTPRequest.Method, parameters: Parameters?, by serializer: ParameterSerializer,
            headers: HeaderFields = [:], decoder: ResponseDecoder<Value>, fileID: StaticString = #fileID, line: Int = #line
        ) -> Request<Value> {
            let origin = CodeOrigin(fileID, line)
            do throws(NetworkError) {
                let output = try serializer.serialize(parameters, method: method, url: url.urlReference)
                return session.make(method, output.url, [:], headers, output.body, decoder, origin)
            } catch { return session.make(method, url, [:], headers, nil, decoder, origin, failure: error) }
        }
    }
}
