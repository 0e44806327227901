public import FoundationEssentials
@_spi(Transport) import ScopedNet
import SystemSupport

/// Real exchanges, recorded once and answered again without a network: what `HARRecorder` (in `ScopedNetFoundation`) writes with its bodies, or
/// any other HAR 1.2 file.
///
/// ```swift
/// // once, against the real server:
/// let recorder = HARRecorder(bodies: .kept)
/// configuration.observers.append(recorder)
/// …
/// try recorder.write(to: file)
///
/// // from then on:
/// let replay = try Replay(Data(contentsOf: file))
/// let session = Session(configuration: .init(customTransport: replay.transport, agent: RequestAgent()))
/// ```
///
/// A request is answered by the entries of its method and URL, in their order; the last one answers all that follow. URLs are compared as
/// they were written, secrets masked. What the file does not know fails with ``NetworkError/Code/connectionFailed``.
public final class Replay: Sendable {
    /// The transport that answers from the file.
    public let transport: MockTransport
    private let shelf: Shelf

    /// - Parameters:
    ///   - har: the file.
    ///   - secretNames: those it was recorded with.
    /// - Throws: `DecodingError` when it is no HAR file.
    public init(_ har: Data, secretNames: Set<String> = []) throws {
        let archive = try JSONDecoder().decode(Archive.self, from: har)
        let shelf = Shelf(archive, mask: SecretMask(additionalNames: secretNames))
        self.shelf = shelf
        transport = MockTransport { shelf.reply(to: $0) }
    }

    /// `GET http://…`, secrets masked: what was asked for and is not in the file.
    public var missing: [String] { shelf.missing }

    /// `GET http://…` of entries that nobody asked for.
    public var unused: [String] { shelf.unused }
}

/// The replies by method and URL.
private final class Shelf: Sendable {
    private struct State {
        /// By the bytes of method and URL: strings that only look alike are equal.
        var replies: [[UInt8]: [MockReply]] = [:]
        var used: Set<[UInt8]> = []
        var missing: [String] = []
        let order: [String]
    }

    private let state: Lock<State>
    private let mask: SecretMask

    init(_ archive: Archive, mask: SecretMask) {
        self.mask = mask
        var replies: [[UInt8]: [MockReply]] = [:]
        var order: [String] = []
        for entry in archive.log.entries {
            // Never sent, or ended before a head came: nothing to answer with.
            guard let reply = entry.reply else { continue }
            let key = Self.key(entry.request.method, mask.maskedURL(entry.request.url))
            if replies[Array(key.utf8)] == nil { order.append(key) }
            replies[Array(key.utf8), default: []].append(reply)
        }
        state = Lock(State(replies: replies, order: order))
    }

    private static func key(_ method: String, _ url: String) -> String { "\(method) \(url)" }

    func reply(to exchange: MockExchange) -> MockReply {
        let text = Self.key(exchange.method.rawValue, mask.maskedURL(exchange.url))
        let key = Array(text.utf8)
        return state.withLock { state in
            guard let replies = state.replies[key], let first = replies.first else {
                state.missing.append(text)
                return .failing(.connectionFailed)
            }
            state.used.insert(key)
            if replies.count > 1 { state.replies[key]?.removeFirst() }
            return first
        }
    }

    var missing: [String] { state.withLock { $0.missing } }
    var unused: [String] { state.withLock { state in state.order.filter { !state.used.contains(Array($0.utf8)) } } }
}
