public import Foundation

/// An HTTP Archive, version 1.2 (http://www.softwareishard.com/blog/har-12-spec/). What is ScopedNet's own
/// is in `_scopednet`, as the format allows.
public struct HARDocument: Codable, Sendable {
    public var log: Log

    public struct Log: Codable, Sendable {
        public var version = "1.2"
        public var creator = Creator()
        public var pages: [Page] = []
        public var entries: [Entry] = []
        public var comment: String?
    }

    public struct Creator: Codable, Sendable {
        public var name = "ScopedNet"
        public var version = "0.1"
    }

    public struct Page: Codable, Sendable {
        public var startedDateTime: String
        public var id: String
        public var title: String
        public var pageTimings = PageTimings()
    }

    /// Nothing here knows when a page was drawn.
    public struct PageTimings: Codable, Sendable {}

    public struct Entry: Codable, Sendable {
        public var pageref: String?
        public var startedDateTime: String
        /// Milliseconds; the sum of the timings.
        public var time: Double
        public var request: Request
        public var response: Response
        public var cache = Cache()
        public var timings: Timings
        public var serverIPAddress: String?
        /// The client's port: entries of one connection share it.
        public var connection: String?
        public var comment: String?
        /// Named so in the file; the format asks for the underscore.
        public var _scopednet: Details
    }

    /// What the format has no field for.
    public struct Details: Codable, Sendable {
        /// ``RunTrace/id``: the entries of one run share it.
        public var run: UInt64
        /// 0 when nothing was sent.
        public var attempt: Int
        public var scope: String?
        public var origin: String
        public var bytesExpected: Int64?
        /// Why the run was cancelled while this exchange was under way.
        public var cancelReason: String?
        public var error: String?
        /// The connection failed under the response.
        public var transportError: Bool?
    }

    public struct NameValue: Codable, Sendable, Hashable {
        public var name: String
        public var value: String
    }

    public struct Cookie: Codable, Sendable, Hashable {
        public var name: String
        public var value: String
    }

    public struct Request: Codable, Sendable {
        public var method: String
        public var url: String
        public var httpVersion: String
        public var cookies: [Cookie] = []
        public var headers: [NameValue]
        public var queryString: [NameValue]
        public var headersSize: Int
        public var bodySize: Int64
    }

    public struct Response: Codable, Sendable {
        /// 0 when none came.
        public var status: Int
        public var statusText: String
        public var httpVersion: String
        public var cookies: [Cookie] = []
        public var headers: [NameValue]
        public var content: Content
        public var redirectURL: String
        public var headersSize: Int
        public var bodySize: Int64
    }

    public struct Content: Codable, Sendable {
        public var size: Int64
        public var mimeType: String
        /// The body without its content codings, where the recorder keeps bodies.
        public var text: String?
        /// "base64" where the body is no text.
        public var encoding: String?
    }

    /// ScopedNet has no cache that could have answered.
    public struct Cache: Codable, Sendable {}

    /// Milliseconds; -1 where a phase does not apply. `ssl` is a part of `connect`.
    public struct Timings: Codable, Sendable {
        public var blocked: Double
        public var dns: Double
        public var connect: Double
        public var send: Double
        public var wait: Double
        public var receive: Double
        public var ssl: Double
    }

    /// UTF-8 JSON, for people and machines.
    public func json() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(self)
    }
}
