public import Foundation

/// An HTTP Archive, version 1.2 (http://www.softwareishard.com/blog/har-12-spec/). What is ScopedNet's own
/// is in `_scopednet`, as the format allows.
public struct HARDocument: Codable, Sendable {
    /// The only member of the file's top level.
    public var log: Log

    /// The pages and entries of a recording.
    public struct Log: Codable, Sendable {
        /// The version of the format.
        public var version = "1.2"
        /// The program that made the file.
        public var creator = Creator()
        /// The scopes of the recorded runs, in the order in which they began.
        public var pages: [Page] = []
        /// The exchanges, by the time when they began.
        public var entries: [Entry] = []
        /// A remark for readers of the file.
        public var comment: String?
    }

    /// A program and its version.
    public struct Creator: Codable, Sendable {
        /// The name of the program.
        public var name = "ScopedNet"
        /// The version of the program.
        public var version = "0.1"
    }

    /// A scope: the entries of the runs that were started in bags of one label.
    public struct Page: Codable, Sendable {
        /// The start of its first run, in ISO 8601 with fractions of a second.
        public var startedDateTime: String
        /// The name by which entries refer to it, unique in the file.
        public var id: String
        /// The label of the bag.
        public var title: String
        /// Required by the format; empty.
        public var pageTimings = PageTimings()
    }

    /// The times at which a page was drawn. There are none.
    public struct PageTimings: Codable, Sendable {}

    /// One exchange: a request and the response to it.
    public struct Entry: Codable, Sendable {
        /// The ``HARDocument/Page/id`` of its scope; nil where the run had none.
        public var pageref: String?
        /// The time when it asked for a connection, in ISO 8601 with fractions of a second.
        public var startedDateTime: String
        /// Milliseconds; the sum of the timings.
        public var time: Double
        /// The request as it was made by the program.
        public var request: Request
        /// The response, also a part of one.
        public var response: Response
        /// Required by the format; empty.
        public var cache = Cache()
        /// The phases of ``time``.
        public var timings: Timings
        /// The address of the server, or of the proxy; nil without a connection.
        public var serverIPAddress: String?
        /// The client's port: entries of one connection share it.
        public var connection: String?
        /// The reason for the next exchange, or the end of the run: `redirected`, `cancelled: owner released`.
        public var comment: String?
        /// Named so in the file; the format asks for the underscore.
        public var _scopednet: Details
    }

    /// The facts for which the format has no field.
    public struct Details: Codable, Sendable {
        /// ``RunTrace/id``: the entries of one run share it.
        public var run: UInt64
        /// 0 when nothing was sent.
        public var attempt: Int
        /// The label of the bag it was started in.
        public var scope: String?
        /// The code that started the run: `Module/File.swift:12`.
        public var origin: String
        /// The length that the response declared, in bytes.
        public var bytesExpected: Int64?
        /// Why the run was cancelled while this exchange was under way.
        public var cancelReason: String?
        /// The error of the exchange, or of the run after its last one; nil for a cancellation.
        public var error: String?
        /// The connection failed under the response.
        public var transportError: Bool?
    }

    /// A header field or a query item.
    public struct NameValue: Codable, Sendable, Hashable {
        /// The name.
        public var name: String
        /// The value; a secret is masked.
        public var value: String
    }

    /// A cookie. None is written: they are secrets, and the fields that carry them are masked.
    public struct Cookie: Codable, Sendable, Hashable {
        /// The name.
        public var name: String
        /// The value.
        public var value: String
    }

    /// A request.
    public struct Request: Codable, Sendable {
        /// The method, such as `GET`.
        public var method: String
        /// The absolute URL, secrets in it masked.
        public var url: String
        /// The version, such as `HTTP/2`; `unknown` without a response.
        public var httpVersion: String
        /// Empty; see ``HARDocument/Cookie``.
        public var cookies: [Cookie] = []
        /// The fields that the program has set, the session's included.
        public var headers: [NameValue]
        /// The items of the query, decoded.
        public var queryString: [NameValue]
        /// -1: it is not known.
        public var headersSize: Int
        /// The bytes of the body that were sent.
        public var bodySize: Int64
    }

    /// A response.
    public struct Response: Codable, Sendable {
        /// 0 when none came.
        public var status: Int
        /// The reason phrase; empty in HTTP/2.
        public var statusText: String
        /// The version, such as `HTTP/2`; `unknown` without a response.
        public var httpVersion: String
        /// Empty; see ``HARDocument/Cookie``.
        public var cookies: [Cookie] = []
        /// The fields as they came, secrets masked.
        public var headers: [NameValue]
        /// The body.
        public var content: Content
        /// The field `Location` of a redirect; empty otherwise.
        public var redirectURL: String
        /// The bytes of the head; -1 where that is not known.
        public var headersSize: Int
        /// The bytes of the body that came over the wire; -1 without a response.
        public var bodySize: Int64
    }

    /// The body of a response.
    public struct Content: Codable, Sendable {
        /// The bytes of ``text`` where it is kept, else those that came over the wire.
        public var size: Int64
        /// The media type without parameters; empty where the response names none.
        public var mimeType: String
        /// The body without its content codings, where the recorder keeps bodies.
        public var text: String?
        /// "base64" where the body is no text.
        public var encoding: String?
    }

    /// The state of a browser's cache. There is none.
    public struct Cache: Codable, Sendable {}

    /// Milliseconds; -1 where a phase does not apply. `ssl` is a part of `connect`.
    public struct Timings: Codable, Sendable {
        /// Waiting for a slot.
        public var blocked: Double
        /// Resolving the name.
        public var dns: Double
        /// Connecting, TLS included.
        public var connect: Double
        /// Sending the request.
        public var send: Double
        /// Waiting for the first byte of the response.
        public var wait: Double
        /// Receiving the response.
        public var receive: Double
        /// The TLS handshake.
        public var ssl: Double
    }

    /// UTF-8 JSON, for people and machines.
    public func json() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(self)
    }
}
