public import FoundationEssentials
public import HTTPTypes

/// A complete, accepted response and the value made of it. Immutable.
public struct Response<Value: Sendable>: Sendable {
    /// Where the response came from.
    public typealias Source = ResponseSource

    private let known: ValuedResponse<Value>

    package init(_ known: ValuedResponse<Value>) { self.known = known }

    /// - Parameter any: what a run with a decoder for `Value` ended in.
    package init(_ any: AnyResponse) { known = any.of(Value.self) }

    /// The value that the decoder made of the body.
    public var value: Value { known.value }
    /// The status line and fields.
    public var head: ResponseHead { known.parts.head }
    /// The decoded body bytes; empty for files and streams.
    public var body: Data { known.parts.body }
    /// Where the body was put, if that is a file.
    public var file: URL? { known.parts.file.map { URL(filePath: $0.destination) } }
    /// One for each attempt and hop, in order; the last is this response's own.
    public var attempts: [TransferMetrics] { known.parts.attempts.all }
    /// The URL that answered, after redirects.
    public var url: String { known.parts.url }
    /// The origin of the response: the network, or the cache.
    public var source: Source { known.parts.source }
    /// What the response cache did about it (RFC 9211); nil without a cache.
    public var cacheStatus: ResponseCache.Status? { known.parts.cacheStatus }

    /// The status code, such as 200.
    public var status: Int { head.status }
    /// The header fields, parsed anew at each call: keep the result when you need several.
    public var headers: HTTPFields { head.headers }
    /// The body as text, in the encoding that a byte order mark or `charset` names, else in UTF-8. What is not valid becomes U+FFFD.
    public var text: String { Charset.text([UInt8](body), named: head.contentType?["charset"]) }
    /// What the last attempt cost: its ``TransferMetrics/total`` leaves earlier attempts and hops out, and the waits between them. Zero where no
    /// server was asked.
    public var metrics: TransferMetrics { known.parts.attempts.last ?? TransferMetrics() }
    /// The time from the start of the run until its value was there: waiting, every attempt and hop, and decoding.
    public var duration: Duration { known.parts.duration }
}

extension Response: CustomStringConvertible {
    /// One line for people, without URL and values: `200 OK, 1.6 KiB JSON in 2.3 s (3 attempts), network`.
    public var description: String {
        var text = "\(status)"
        if !head.reasonPhrase.isEmpty { text += " " + head.reasonPhrase.printable }
        let count = file == nil ? Int64(body.count) : metrics.bodyBytesReceived
        text += ", \(HumanText.bytes(count))"
        if let type = head.contentType { text += " " + HumanText.kind(of: type).printable }
        text += " in \(HumanText.time(duration))"
        if known.parts.attemptNumber > 1 { text += " (\(known.parts.attemptNumber) attempts)" }
        switch source {
        case .network: text += ", network"
        case .cache: text += ", cache"
        case .validatedCache: text += ", validated cache"
        case .interceptor: text += ", interceptor"
        }
        return text
    }
}

/// Where a response came from.
public enum ResponseSource: Sendable, Hashable {
    /// From a server.
    case network
    /// From the cache; no server was asked first, none could be, or its answer was an error.
    case cache
    /// From the cache, after the server said that it is still right.
    case validatedCache
    /// Made by an ``Interceptor``; neither cache nor server had a part in it.
    case interceptor
}

/// What is known of a response besides its value.
package struct ResponseParts: Sendable {
    package var head: ResponseHead
    package var body: Data
    package var attempts: AttemptList
    /// 1 without a retry; redirects and challenges do not count.
    package var attemptNumber = 1
    package var url: String
    package var source = ResponseSource.network
    package var cacheStatus: ResponseCache.Status?
    /// Where the body was put, if that is a file.
    package var file: FileSink?
    /// Since the start of the run.
    package var duration = Duration.zero
}

/// What each attempt cost, in order. Most runs make one, so the last needs no array.
package struct AttemptList: Sendable {
    private var earlier: [TransferMetrics] = []
    package private(set) var last: TransferMetrics?
    /// Asked without copying what there would be.
    private var hasLast = false

    package init() {}

    package mutating func append(_ metrics: consuming TransferMetrics) {
        if hasLast, let former = last { earlier.append(former) }
        hasLast = true
        last = consume metrics
    }

    package var all: [TransferMetrics] { last.map { earlier + [$0] } ?? [] }
}

/// A response as a run sees it, which does not know the type of its value.
///
/// Runs and their closures are not generic: generic code asks the Swift runtime for the description of each type it meets, 38 times for one
/// request, a tenth of all instructions spent on it (measured). Only `Request`, its registering methods and the decoder know the type.
package class AnyResponse: @unchecked Sendable {
    // Safety: every property is constant and Sendable, here and in the only subclass.
    package let parts: ResponseParts

    fileprivate init(_ parts: consuming ResponseParts) { self.parts = consume parts }

    /// The value, for those that take any: delegates and observers. Without one, the body.
    package var anyValue: any Sendable { parts.body }

    package final func of<Value: Sendable>(_ type: Value.Type) -> ValuedResponse<Value> {
        // Safety: a run's decoder makes its response, and its closures are registered, by the same `Request<Value>`, which hands both to
        // the run; no other path leads a response to a closure. Debug builds check the cast.
        unsafeDowncast(self, to: ValuedResponse<Value>.self)
    }
}

/// A response with its value.
package final class ValuedResponse<Value: Sendable>: AnyResponse, @unchecked Sendable {
    // Safety: as the base class.
    package let value: Value

    package init(_ value: consuming Value, _ parts: consuming ResponseParts) {
        self.value = consume value
        super.init(consume parts)
    }

    override package var anyValue: any Sendable { value }
}

extension Response where Value == URL {
    /// The number of bytes of the file that were there before the exchange that completed it: what an earlier download, or an earlier attempt of
    /// this one, had left (``DownloadOptions/resumes``). Zero for a file that came at once.
    public var resumedBytes: Int64 {
        guard source == .network, let length = head.contentLength else { return 0 }
        return max(0, length - metrics.bodyBytesReceived)
    }
}
