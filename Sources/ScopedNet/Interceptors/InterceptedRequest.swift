public import FoundationEssentials
public import HTTPTypes
import SystemSupport

/// A request as an ``Interceptor`` sees and changes it.
public struct InterceptedRequest: Sendable {
    /// Absolute. Where it is changed, it may be relative to the present one.
    public var url: String
    /// The request method.
    public var method: HTTPRequest.Method
    /// The fields. Around an exchange these are all that the server gets but those of the connection and the proxy: `Host`, `Accept` and, where the
    /// length is known, `Content-Length` are among them. The framing of a body is the transport's: another length is ignored.
    public var headers: HeaderFields
    /// The body; nil for none. One that can be read once (``RequestBody/stream(_:length:isReplayable:)``) is sent once.
    public var body: RequestBody?

    /// Makes a request; `context` and `next` of an interceptor say what it belongs to.
    public init(url: String, method: HTTPRequest.Method = .get, headers: HeaderFields = [:], body: RequestBody? = nil) {
        self.url = url
        self.method = method
        self.headers = headers
        self.body = body
    }

    /// The bytes of the body, for a signature; empty without a body. Nil for a file or a sequence, which is read while it is sent.
    public var bodyBytes: Data? {
        switch body?.content {
        case nil: Data()
        case .data(let data): data
        case .file, .stream: nil
        }
    }
}

extension InterceptedRequest {
    /// The circumstances of a request.
    public struct Context: Sendable {
        /// The place of an interceptor.
        public enum Place: Sendable, Hashable {
            /// Around the whole call.
            case call
            /// Around one exchange.
            case exchange
        }

        /// The place at which the interceptor is asked.
        public let place: Place
        /// The same as ``Run/id``.
        public let runID: UInt64
        /// The number of the attempt. Counts from 1; redirects and answers to challenges belong to the attempt that led to them.
        public let attempt: Int
        /// The redirects that were followed before this request.
        public let redirects: Int
        /// ``RequestOptions/tag`` of the request.
        public let tag: String?
        /// ``RequestOptions/userInfo`` of the request.
        public let userInfo: [String: any Sendable]
        /// True for a run that only brings the cache up to date, beside one that was answered from it.
        public let isRefresh: Bool
        /// Values that the interceptors of this run leave for each other.
        public let values: Values
        let stop: @Sendable () -> Void

        /// Cancels the run, as ``Run/cancel()`` does: neither success nor failure is told, and a caller that awaits gets `cancelled`.
        ///
        /// For a result that the program deals with elsewhere, such as a session that has expired while the login page is shown already. `next` throws
        /// from here on, and what the interceptor returns or throws reaches nobody.
        public func cancel() { stop() }
    }

    /// Values that interceptors leave for others of the same run, one for each type: those around the call for those around its exchanges, or those of an
    /// exchange for the next one.
    ///
    /// They live as long as the run, and any thread may use them.
    public final class Values: Sendable {
        private let values = Lock<[ObjectIdentifier: any Sendable]>([:])

        init() {}

        /// The value of this type; nil where there is none. Setting nil removes it.
        public subscript<Value: Sendable>(type: Value.Type) -> Value? {
            get { values.withLock { $0[ObjectIdentifier(type)] } as? Value }
            set {
                // The old value is let go outside the lock.
                let old = values.withLock { values -> (any Sendable)? in
                    defer { values[ObjectIdentifier(type)] = newValue }
                    return values[ObjectIdentifier(type)]
                }
                _ = old
            }
        }
    }

    /// Hands a request on, to the interceptor behind or to the server, and returns the response.
    public struct Next: Sendable {
        let proceed: @Sendable (InterceptedRequest) async throws -> InterceptedResponse

        /// Sends the request and returns its response. The body of a stream has begun to reach its reader by then, a file is complete, and everything
        /// else is in memory.
        ///
        /// - Throws: ``NetworkError`` where no response came, and at once for a run that was cancelled, while an earlier call is under way,
        ///   and for a second or later call where ``RetryPolicy/maxAttempts`` is more than 1 and the retry budget of the host is spent.
        public func callAsFunction(_ request: InterceptedRequest) async throws -> InterceptedResponse {
            try await proceed(request)
        }
    }
}
