import CleanSlate
import Foundation
import HTTPTypes
import ScopedNetTestServer
import ScopedNetTesting
import SystemSupport
import Testing

@_spi(Transport) @testable import ScopedNet

/// Connections that bytes go through in both directions: ``DuplexChannel/open(_:with:in:window:fileID:line:)``.
@Suite(.leavesNothing, .noLeaks, .timeLimit(.minutes(3))) struct ChannelTests {
    /// Sends back what comes.
    private static let echo: @Sendable (RawConnection, Int) -> Void = { connection, _ in
        while let byte = connection.read(1), connection.send(byte) {}
    }

    private func url(_ server: RawServer) -> String { "http://127.0.0.1:\(server.port)/" }

    /// So many bytes, or fewer where the channel ends before.
    private func read(_ count: Int, _ iterator: inout DuplexChannel.Bytes.AsyncIterator) async throws -> Data {
        var data = Data()
        while data.count < count, let piece = try await iterator.next() { data += piece }
        return data
    }

    @Test func bytesGoBothWaysUntilItIsClosed() async throws {
        try await withRawServer(Self.echo) { server, session in
            let channel = try await DuplexChannel.open(url(server), with: session)
            #expect(channel.metrics.remoteAddress == "127.0.0.1" && channel.metrics.remotePort == server.port)
            var bytes = channel.bytes.makeAsyncIterator()
            for text in ["one", "two", String(repeating: "three", count: 5_000)] {
                try await channel.send(Data(text.utf8))
                #expect(try await read(text.utf8.count, &bytes) == Data(text.utf8))
            }
            channel.close()
            guard case .succeeded = await channel.outcome() else {
                Issue.record("not closed")
                return
            }
            #expect(try await bytes.next() == nil)
            await #expect(throws: NetworkError.self) { try await channel.send(Data([1])) }
            #expect(session.admission.activeCount == 0 && session.link.liveAdmission.activeCount == 0)
        }
    }

    @Test func theOtherSideMayCloseIt() async throws {
        try await withRawServer({ connection, _ in connection.send("bye") }) { server, session in
            let channel = try await DuplexChannel.open(url(server), with: session)
            var all = Data()
            for try await piece in channel.bytes { all += piece }
            #expect(all == Data("bye".utf8))
            guard case .succeeded = await channel.outcome() else {
                Issue.record("not closed")
                return
            }
        }
    }

    @Test func aResetIsAnError() async throws {
        try await withRawServer({ connection, _ in
            _ = connection.read(1)
            connection.reset()
        }) { server, session in
            let channel = try await DuplexChannel.open(url(server), with: session)
            try await channel.send(Data([1]))
            let error = await #expect(throws: NetworkError.self) { for try await _ in channel.bytes {} }
            #expect(error?.code == .connectionLost && error?.url == url(server), "\(String(describing: error))")
            guard case .failed = await channel.outcome() else {
                Issue.record("not failed")
                return
            }
        }
    }

    /// TLS with the session's authority and pins; spoken to as HTTP by hand.
    @Test func itIsSecuredAsARequestIs() async throws {
        let authority = try TestAuthority()
        try await withWire(.tls(authority)) {
            $0.tls.certificateAuthority = .pem(authority.certificatePEM)
        } _: { wire async throws in
            wire.server.on("/a", .ok("there"))
            let channel = try await DuplexChannel.open("https://localhost:\(wire.server.port)/ignored?x", with: wire.session)
            try await channel.send(Data("GET /a HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8))
            var all = Data()
            for try await piece in channel.bytes { all += piece }
            let text = String(decoding: all, as: UTF8.self)
            #expect(text.hasPrefix("HTTP/1.1 200") && text.hasSuffix("there"))
            #expect(wire.server.requests.map(\.path) == ["/a"])
            // One that does not know the authority does not believe the server.
            let stranger = wire.session.with { $0.tls.certificateAuthority = .system }
            let error = await #expect(throws: NetworkError.self) {
                try await DuplexChannel.open("https://localhost:\(wire.server.port)/", with: stranger)
            }
            #expect(error?.code == .certificateUntrusted)
            await stranger.shutdown()
        }
    }

    /// 4 MiB each way through TLS, in pieces that fit nowhere.
    @Test func muchGoesThroughTLS() async throws {
        let authority = try TestAuthority()
        try await withWire(.tls(authority)) {
            $0.tls.certificateAuthority = .pem(authority.certificatePEM)
        } _: { wire async throws in
            let body = bytes(4 << 20)
            wire.server.on("/a", ScriptedResponse.ok(.bytes(Array(body))))
            let channel = try await DuplexChannel.open("https://localhost:\(wire.server.port)/", with: wire.session, window: 10_000)
            let head = "POST /a HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: \(body.count)\r\n\r\n"
            async let sent: Void = {
                try await channel.send(Data(head.utf8))
                var rest = body[...]
                while !rest.isEmpty {
                    try await channel.send(Data(rest.prefix(7_777)))
                    rest = rest.dropFirst(7_777)
                }
            }()
            var all = Data()
            for try await piece in channel.bytes { all += piece }
            try await sent
            #expect(all.suffix(body.count) == body)
            #expect(wire.server.requests.first?.body.count == body.count)
        }
    }

    @Test func itGoesThroughAProxysTunnel() async throws {
        try await withRawServer(Self.echo) { server, _ in
            try await withLoopbackProxy(.init(hosts: ["nowhere.test": server.port])) { proxy async throws in
                try await withSession {
                    $0.proxy = .explicit(url: proxy.url)
                } _: { session async throws in
                    let channel = try await DuplexChannel.open("http://nowhere.test/", with: session)
                    try await channel.send(Data("hello".utf8))
                    var bytes = channel.bytes.makeAsyncIterator()
                    #expect(try await read(5, &bytes) == Data("hello".utf8))
                    channel.close()
                    _ = await channel.outcome()
                }
                try await proxy.waitForOpenConnections { $0 == 0 }
            }
        }
    }

    @Test func theAddressFilterHolds() async throws {
        try await withRawServer(Self.echo) {
            $0.addressFilter = .publicOnly
        } _: { server, session in
            let error = await #expect(throws: NetworkError.self) { try await DuplexChannel.open(url(server), with: session) }
            #expect(error?.code == .addressRefused && server.accepted == 0)
        }
    }

    @Test func nobodyThereIsAnError() async throws {
        let server = try RawServer { _, _ in }
        server.stop()
        try await withSession { session in
            let error = await #expect(throws: NetworkError.self) { try await DuplexChannel.open(url(server), with: session) }
            #expect(error?.code == .connectionRefused)
            let malformed = await #expect(throws: NetworkError.self) { try await DuplexChannel.open("nonsense://", with: session) }
            #expect(malformed != nil)
        }
    }

    @Test func aSlowReaderHoldsTheOtherSideUp() async throws {
        let count = 32 << 20
        let (sent, isRead) = (Latch(), Latch())
        try await withRawServer({ connection, _ in
            let piece = [UInt8](repeating: 7, count: 1 << 20)
            for _ in 0..<(count >> 20) { connection.send(piece) }
            sent.open()
        }) { server, session in
            let channel = try await DuplexChannel.open(url(server), with: session, window: 16 << 10)
            // Still for a while: sockets take some megabytes.
            for _ in 0..<20 { try await Task.sleep(for: .milliseconds(10)) }  // the server sends for as long as it can
            #expect(!sent.isOpen)
            var got = 0
            for try await piece in channel.bytes { got += piece.count }
            #expect(got == count && sent.isOpen)
            isRead.open()
        }
    }

    @Test func aSlowOtherSideHoldsSendersUp() async throws {
        let (mayRead, hasRead) = (Latch(), Latch())
        let total = Gathered<Int>()
        try await withRawServer({ connection, _ in
            while !mayRead.isOpen { usleep(1_000) }
            var count = 0
            while let piece = connection.read(1 << 10) { count += piece.count }
            total.add(count)
            hasRead.open()
        }) { server, session in
            let channel = try await DuplexChannel.open(url(server), with: session, window: 64 << 10)
            let piece = Data(repeating: 7, count: 64 << 10)
            let taken = Gathered<Int>()
            let sending = Task {
                for number in 0..<256 {
                    try await channel.send(piece)
                    taken.add(number)
                }
                channel.close()
            }
            for _ in 0..<20 { try await Task.sleep(for: .milliseconds(10)) }  // sockets take some megabytes
            #expect(taken.all.count < 256)
            mayRead.open()
            try await sending.value
            _ = await channel.outcome()
            // All bytes that were taken go out, and behind them the end.
            await hasRead.wait()
            #expect(total.all == [256 * piece.count])
        }
    }

    /// All bytes that were taken go out although nobody reads what comes back, and the channel is dropped.
    @Test(arguments: [false, true]) func aCloseLosesNothing(isDropped: Bool) async throws {
        let total = Gathered<Int>()
        let hasRead = Latch()
        try await withRawServer({ connection, _ in
            var count = 0
            while let piece = connection.read(64 << 10) {
                count += piece.count
                connection.send(piece)
            }
            total.add(count)
            hasRead.open()
        }) { server, session in
            var channel: DuplexChannel? = try await DuplexChannel.open(url(server), with: session, window: 64 << 10)
            let piece = Data(repeating: 7, count: 64 << 10)
            let bytes = isDropped ? nil : channel?.bytes
            let reading = Task { () -> Int in
                var count = 0
                if let bytes { for try await piece in bytes { count += piece.count } }
                return count
            }
            // Of the echo little is read, or nothing.
            for _ in 0..<64 { try await channel?.send(piece) }
            channel?.close()
            if isDropped { channel = nil }
            await hasRead.wait()
            #expect(total.all == [64 * piece.count])
            #expect(try await reading.value == (isDropped ? 0 : 64 * piece.count))
            _ = await channel?.outcome()
            await session.agent.waitUntilIdle()
        }
    }

    /// The other side closes its half, and reads on.
    @Test func whatWasTakenGoesOutBehindTheOtherSidesEnd() async throws {
        let total = Gathered<Int>()
        let hasRead = Latch()
        try await withRawServer({ connection, _ in
            var count = connection.read(1 << 10)?.count ?? 0
            connection.endSending()
            while let piece = connection.read(1 << 10) { count += piece.count }
            total.add(count)
            hasRead.open()
        }) { server, session in
            let channel = try await DuplexChannel.open(url(server), with: session, window: 8 << 20)
            try await channel.send(Data(repeating: 7, count: 8 << 20))
            await hasRead.wait()
            #expect(total.all == [8 << 20])
            for try await _ in channel.bytes { Issue.record("nothing was sent") }
        }
    }

    /// The other side never reads: what is left after a close has the idle clock, also where nobody holds the channel any more.
    @Test(arguments: [false, true]) func aCloseDoesNotWaitForEver(isDropped: Bool) async throws {
        let isOver = Latch()
        try await withRawServer({ _, _ in while !isOver.isOpen { usleep(1_000) } }) {
            $0.options.timeouts.idle = .milliseconds(300)
        } _: { server, session in
            var channel: DuplexChannel? = try await DuplexChannel.open(url(server), with: session, window: 16 << 20)
            try await channel?.send(Data(repeating: 7, count: 16 << 20))
            let bytes = isDropped ? nil : channel?.bytes
            channel?.close()
            channel = nil
            if let bytes {
                let error = await #expect(throws: NetworkError.self) { for try await _ in bytes {} }
                #expect(error?.code == .idleTimeout && error?.phase == .sending, "\(String(describing: error))")
            }
            await session.agent.waitUntilIdle()
            isOver.open()
        }
    }

    /// Closed and held by nobody, it does not wait for one who never stops sending.
    @Test func bytesThatNobodyReadsGainItNoTime() async throws {
        let isOver = Latch()
        try await withRawServer({ connection, _ in
            while !isOver.isOpen, connection.send("x") { usleep(100_000) }
        }) { server, session in
            try await DuplexChannel.open(url(server), with: session).close()
            await session.agent.waitUntilIdle()
            isOver.open()
        }
    }

    /// It had more to read than its window takes when it was dropped, and the other side stays.
    @Test func aChannelThatWasBehindEndsAfterItsClose() async throws {
        let isOver = Latch()
        try await withRawServer({ connection, _ in
            connection.send([UInt8](repeating: 7, count: 256 << 10))
            while !isOver.isOpen { usleep(1_000) }
        }) { server, session in
            do {
                let channel = try await DuplexChannel.open(url(server), with: session, window: 4 << 10)
                channel.close()
                var bytes = channel.bytes.makeAsyncIterator()
                _ = try await bytes.next()
                for _ in 0..<10 { try await Task.sleep(for: .milliseconds(10)) }  // the rest comes
            }
            await session.agent.waitUntilIdle()
            isOver.open()
        }
    }

    @Test func aQueueThatIsNeverEmptyForgetsWhatWasTaken() {
        var (pieces, next, most) = ([Data](), 0, 0)
        for number in 0..<10_000 {
            pieces.append(Data([UInt8(number % 256)]))
            most = max(most, pieces.count)
            guard pieces.count - next > 10 else { continue }
            #expect(pieces[next] == Data([UInt8((number - 10) % 256)]))
            next += 1
            pieces.dropTaken(&next)
        }
        #expect(most < 100)
    }

    /// A server says why it takes no more, and closes with unread bytes: a reset. The reader is behind, and gets the reason all the same.
    @Test(arguments: [true, false]) func theLastWordsOfTheOtherSideAreRead(isBehind: Bool) async throws {
        let words = String(repeating: ".", count: 48 << 10) + "552 too much"
        try await withRawServer({ connection, _ in
            _ = connection.read(1)
            connection.send(words)
            connection.reset()
        }) { server, session in
            let channel = try await DuplexChannel.open(url(server), with: session, window: isBehind ? 4 << 10 : 256 << 10)
            let sending = Task { while true { try await channel.send(Data(repeating: 7, count: 16 << 10)) } }
            // Senders are told at once, whether anybody reads or not.
            if isBehind { await #expect(throws: NetworkError.self) { try await sending.value } }
            var all = Data()
            let error = await #expect(throws: NetworkError.self) { for try await piece in channel.bytes { all += piece } }
            #expect(error?.code == .connectionLost, "\(String(describing: error))")
            #expect(all == Data(words.utf8), "\(all.count) bytes")
            await #expect(throws: NetworkError.self) { try await sending.value }
        }
    }

    /// It has ended, and what has come is read by nobody yet: its owner's end reaches that, too.
    @Test func theEndOfTheBagReachesUnreadBytes() async throws {
        try await withRawServer({ connection, _ in connection.send("secret") }) { server, session in
            let bag = DeallocBag()
            let channel = try await DuplexChannel.open(url(server), with: session, in: bag)
            _ = await channel.outcome()
            bag.end()
            let error = await #expect(throws: NetworkError.self) { for try await _ in channel.bytes { Issue.record("read") } }
            #expect(error?.cancelReason == .ownerReleased)
        }
    }

    @Test func theEndOfItsBagEndsIt() async throws {
        try await withRawServer(Self.echo) { server, session in
            let bag = DeallocBag()
            let channel = try await DuplexChannel.open(url(server), with: session, in: bag)
            #expect(bag.count == 1 && session.agent.liveCount == 1)
            let reading = Task { () -> NetworkError? in
                do throws(NetworkError) {
                    for try await _ in channel.bytes {}
                    return nil
                } catch { return error }
            }
            bag.end()
            let error = await reading.value
            #expect(error?.isCancelled == true && error?.cancelReason == .ownerReleased)
            let refusal = await #expect(throws: NetworkError.self) { try await channel.send(Data([1])) }
            #expect(refusal?.cancelReason == .ownerReleased)
            await session.agent.waitUntilIdle()
            // An ended bag opens none.
            let late = await #expect(throws: NetworkError.self) { try await DuplexChannel.open(url(server), with: session, in: bag) }
            #expect(late?.cancelReason == .ownerReleased && server.accepted == 1)
        }
    }

    @Test func itsLastReferenceEndsIt() async throws {
        let hasEnded = Latch()
        try await withRawServer({ connection, _ in
            _ = connection.read(1)
            hasEnded.open()
        }) { server, session in
            do { _ = try await DuplexChannel.open(url(server), with: session) }
            await hasEnded.wait()
            await session.agent.waitUntilIdle()
        }
    }

    @Test func aCancelledReaderEndsIt() async throws {
        try await withRawServer(Self.echo) { server, session in
            let channel = try await DuplexChannel.open(url(server), with: session)
            let reading = Task { for try await _ in channel.bytes {} }
            reading.cancel()
            await #expect(throws: NetworkError.self) { try await reading.value }
            guard case .cancelled(.taskCancelled) = await channel.outcome() else {
                Issue.record("not cancelled")
                return
            }
        }
    }

    @Test func aShutdownEndsIt() async throws {
        let server = try RawServer(Self.echo)
        defer { server.stop() }
        try await withSession { session in
            let channel = try await DuplexChannel.open(url(server), with: session)
            await session.shutdown()
            guard case .cancelled(.shutdown) = await channel.outcome() else {
                Issue.record("not cancelled")
                return
            }
            let late = await #expect(throws: NetworkError.self) { try await DuplexChannel.open(url(server), with: session) }
            #expect(late?.code == .shutdown)
        }
    }

    /// Channels take no place of requests, and have a limit of their own.
    @Test func theyHaveALimitOfTheirOwn() async throws {
        try await withRawServer(Self.echo) {
            $0.limits.live = 2
            $0.limits.perHost = 1
        } _: { server, session in
            let bag = DeallocBag()
            let first = try await DuplexChannel.open(url(server), with: session, in: bag)
            let second = try await DuplexChannel.open(url(server), with: session, in: bag)
            async let third = DuplexChannel.open(url(server), with: session, in: bag)
            await eventually { session.link.liveAdmission.waitingCount != 0 }
            #expect(session.admission.activeCount == 0)
            first.cancel()
            let late = try await third
            try await late.send(Data("x".utf8))
            var bytes = late.bytes.makeAsyncIterator()
            #expect(try await read(1, &bytes) == Data("x".utf8))
            // One that waits is taken out by its bag.
            let waiting = Task { try await DuplexChannel.open(url(server), with: session, in: bag) }
            await eventually { session.link.liveAdmission.waitingCount != 0 }
            bag.end()
            await #expect(throws: NetworkError.self) { try await waiting.value }
            withExtendedLifetime((second, late)) {}
            await session.agent.waitUntilIdle()
        }
    }

    /// Requests on other connections while channels stand, and another network in between.
    @Test func requestsAndNetworksComeAndGoBesideIt() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok("there"))
            try await withRawServer(Self.echo) { server, _ in
                let channel = try await DuplexChannel.open(url(server), with: wire.session)
                var bytes = channel.bytes.makeAsyncIterator()
                for round in 0..<3 {
                    _ = try await wire.session.values(of: (0..<8).map { _ in wire.get() })
                    if round == 1 { wire.session.transport.networkChanged() }
                    // Bytes that come while nobody looks at the connection are not taken for its end.
                    try await channel.send(Data("ping".utf8))
                    _ = try await wire.session.values(of: (0..<8).map { _ in wire.get() })
                    #expect(try await read(4, &bytes) == Data("ping".utf8))
                }
                channel.close()
                _ = await channel.outcome()
            }
        }
    }

    /// Opened, used and cancelled at random moments.
    @Test func manyComeAndGo() async throws {
        try await withRawServer(Self.echo) { server, session in
            let target = url(server)
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<300 {
                    group.addTask {
                        let bag = DeallocBag()
                        let end = Task {
                            for _ in 0..<(number % 40) { await Task.yield() }
                            if number % 2 == 0 { bag.end() }
                        }
                        if let channel = try? await DuplexChannel.open(target, with: session, in: bag) {
                            let text = Data("\(number)".utf8)
                            try? await channel.send(text)
                            var bytes = channel.bytes.makeAsyncIterator()
                            let echoed = try? await bytes.next()
                            if let echoed { #expect(text.starts(with: echoed)) }
                            if number % 3 == 0 { channel.close() }
                        }
                        await end.value
                        bag.end()
                    }
                }
            }
            await session.agent.waitUntilIdle()
            // The last of the cancelled ones may be on the network thread still.
            await eventually { session.link.liveAdmission.activeCount == 0 }
        }
    }
}
