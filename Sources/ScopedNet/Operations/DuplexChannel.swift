public import FoundationEssentials

/// A connection that bytes go through in both directions: what protocols are made of that begin as a connection to a URL and go on as something else.
///
/// Made by ``open(_:with:in:window:fileID:line:)``. It ends with its bag, with a cancel, when either side closes it, and with the last reference to
/// this object. It is no HTTP: nothing is sent but what ``send(_:)`` is given.
public final class DuplexChannel: Sendable {
    /// The bytes that have come, in pieces as they arrive. Iterate it once. It ends when the other side closes, and throws where the connection breaks off, is cancelled
    /// or is ended by its bag. A reader that falls behind holds the other side up: at most `window` bytes wait for it.
    public var bytes: Bytes { Bytes(channel: self) }
    /// The times and addresses of the connection.
    public let metrics: TransferMetrics
    /// Why the server, or a proxy that speaks TLS, would have been refused: from ``SecurityPolicy/Mode/reportOnly`` pins. Nil where it would not have been.
    public let trustReport: SecurityPolicy.TrustFailure?
    fileprivate let connection: ChannelConnection

    init(_ connection: ChannelConnection, _ metrics: TransferMetrics) {
        self.connection = connection
        self.metrics = metrics
        trustReport = connection.trustReport
    }

    deinit { connection.drop() }

    /// Makes a connection (name lookup, TCP, proxy, TLS) and hands it over: bytes go through it in both directions, and nothing else.
    ///
    /// ```swift
    /// let channel = try await DuplexChannel.open("https://chat.example.com/", with: session, in: bag)
    /// try await channel.send(Data("HELO\r\n".utf8))
    /// for try await piece in channel.bytes { … }
    /// ```
    ///
    /// Returns when the connection stands. Name lookup, proxies (through a tunnel, for `http` as well), TLS, pins, the address filter, ``RequestOptions/access``,
    /// ``HSTSStore`` and ``Timeouts/connect`` are those of a request to that URL; ALPN offers HTTP/1.1. Path and query do not matter. It takes no place among
    /// the requests: ``ConnectionLimits/live`` limits it, together with streams. Once it stands no clock runs but TCP's own, until it
    /// is closed.
    ///
    /// - Parameters:
    ///   - url: `https` for TLS, `http` for none. A relative one is of the session's base URL.
    ///   - session: its connections, limits and rules are used.
    ///   - bag: its owner's; nil for the bag of the task that this is called in, if there is one.
    ///   - window: bytes that may wait in each direction. Default: 256 KiB.
    ///   - fileID: the file of the call, which leak tests name, with `line`.
    ///   - line: the line of the call.
    /// - Returns: the channel, whose last reference ends it.
    /// - Throws: ``NetworkError`` with the codes of a request that gets no connection; `cancelled` when the task is, or the bag ends.
    public static func open(
        _ url: some URLConvertible, with session: Session, in bag: DeallocBag? = nil, window: Int = 256 << 10,
        fileID: StaticString = #fileID, line: Int = #line
    ) async throws(NetworkError) -> DuplexChannel {
        let origin = CodeOrigin(fileID, line)
        var target = RequestURL.placeholder(url.urlReference)
        let transfer: TransferRequest
        do throws(NetworkError) {
            target = try session.url(url.urlReference)
            target = try session.upgraded(target) ?? target
            let pipe = ChannelPipe(window: window, origin: origin)
            transfer = ExchangeBuilder.channel(to: target, try session.plainTemplate(target).transferOptions, pipe)
            let connection = ChannelConnection(session, transfer, pipe, in: bag?.storage ?? TaskScope.bag, origin)
            return DuplexChannel(connection, try await connection.open())
        } catch { throw error.asked(nil, target) }
    }

    /// Unique in the process, among runs, operations and channels.
    public var id: UInt64 { connection.operation.id }

    /// Takes bytes to be sent, in the order of the calls of one task, and returns when they are on their way or among the `window` bytes that wait.
    ///
    /// One call is never cut: with less than `window` waiting its bytes are all taken.
    ///
    /// - Throws: ``NetworkError``: `connectionLost` after the end, by whichever side; `cancelled` for a channel that was, and for a task that was while it
    ///   waited. Of those bytes none is sent then.
    public func send(_ data: Data) async throws(NetworkError) {
        do throws(NetworkError) { try await connection.pipe.output.send(data) } catch { throw connection.named(error) }
    }

    /// Says that nothing more is sent, once all bytes have gone out that were taken, also where this object goes meanwhile. Any thread, idempotent, returns at
    /// once.
    ///
    /// The channel ends when the other side has closed as well, or has been silent for 5 s after all has gone out; what comes until then can be read. It
    /// fails with `idleTimeout` where the other side takes nothing of what is left for as long as the session's ``Timeouts/idle``.
    public func close() { connection.pipe.output.close() }

    /// Ends the connection now. Any thread, idempotent.
    @discardableResult
    public func cancel() -> Run.CancelResult { Run.CancelResult(connection.cancel()) }

    /// Returns how it ended once it has: `succeeded` where either side closed it.
    public func outcome() async -> ScopedOperation.Outcome { await connection.operation.outcome() }
}

extension DuplexChannel {
    /// The bytes that have come over a channel.
    public struct Bytes: AsyncSequence, Sendable {
        /// One piece.
        public typealias Element = Data
        /// Each error is one of the library.
        public typealias Failure = NetworkError

        fileprivate let channel: DuplexChannel

        /// Begins to read.
        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(channel: channel) }

        /// A reader of the channel. Its end stops nothing.
        public struct AsyncIterator: AsyncIteratorProtocol {
            fileprivate let channel: DuplexChannel

            /// The next piece; nil when the other side has closed.
            ///
            /// A cancel of the task ends the channel.
            public mutating func next() async throws(NetworkError) -> Data? {
                try await channel.connection.next()
            }

            /// The next piece, without leaving the caller's actor first.
            public mutating func next(isolation actor: isolated (any Actor)?) async throws(NetworkError) -> Data? { try await next() }
        }
    }
}
