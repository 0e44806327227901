import FoundationEssentials
import HTTPTypes
import ScopedNet
import ScopedNetTesting
import SystemSupport

@testable import ScopedNetImages

/// A server that counts the exchanges that are open at the moment at which one comes, and answers them in any way.
final class StormServer: Sendable {
    private struct Open {
        let exchange: MockExchange
        /// The head and a part of the body have been sent.
        var hasBegun = false
    }

    private struct State {
        var open: [Open] = []
        var most = 0
        var count = 0

        mutating func forgetEnded() { open.removeAll { $0.exchange.isEnded || $0.exchange.isCancelled } }
    }

    /// Each is of one colour, that of its number; each tenth one is large enough to be continued.
    private static let files = (0..<ImageStorm.files).map { (number: Int) -> Data in
        let (width, height) = number % 10 == 0 ? (80, 80) : (4, 3)
        return ImageLoading.bitmap(width, height, red: UInt8(number))
    }

    private let state = Lock(State())

    /// The most that were open at a time.
    var most: Int { state.withLock { $0.most } }
    var count: Int { state.withLock { $0.count } }
    var openCount: Int { state.withLock { $0.open.count } }

    func take(_ exchange: MockExchange) {
        state.withLock { state in
            state.forgetEnded()
            state.open.append(Open(exchange: exchange))
            state.count += 1
            state.most = max(state.most, state.open.count)
        }
    }

    /// Answers one of them, or a part of it, well or badly.
    func answer(_ random: inout SplitMix) {
        let (choice, place) = (random.next(), random.next())
        let (open, isPart) = state.withLock { state -> (Open?, Bool) in
            state.forgetEnded()
            guard !state.open.isEmpty else { return (nil, false) }
            let index = Int(place % UInt64(state.open.count))
            // It is forgotten when it has ended: it still counts until then.
            let isPart = choice % 16 == 0 && !state.open[index].hasBegun
            let open = state.open[index]
            if isPart { state.open[index].hasBegun = true }
            return (open, isPart)
        }
        guard let open else { return }
        if isPart { return begin(open.exchange) }
        if open.hasBegun { return choice % 4 == 0 ? open.exchange.fail() : end(open.exchange) }
        switch choice % 16 {
        case 1, 2: open.exchange.fail(choice % 3 == 0 ? .firstByteTimeout : .connectionLost)
        case 3: open.exchange.respond(.status([404, 410, 416, 503][Int(place % 4)]))
        case 4: open.exchange.respond(.ok("no picture, but a page"))
        case 5: open.exchange.respond(ImageLoading.reply(file(open.exchange).prefix(70)))
        case 6: open.exchange.respond(ImageLoading.reply(ImageSamples.png(30_000, 30_000)))
        default: respond(to: open.exchange, ["max-age=60", "max-age=60", "max-age=0", "no-store"][Int(place % 4)])
        }
    }

    func answerAll() {
        let open = state.withLock { state in
            state.forgetEnded()
            return state.open
        }
        for open in open { if open.hasBegun { end(open.exchange) } else { respond(to: open.exchange, "max-age=60") } }
    }

    private func file(_ exchange: MockExchange) -> Data { Self.files[Int(exchange.path.dropFirst()) ?? 0] }

    private func fields(_ exchange: MockExchange, _ control: String) -> HTTPFields {
        [.eTag: "\"\(exchange.path)\"", .acceptRanges: "bytes", .cacheControl: control]
    }

    private func respond(to exchange: MockExchange, _ control: String) {
        let file = file(exchange)
        var reply = MockReply(headers: fields(exchange, control), body: file)
        if exchange.headers[.ifNoneMatch] != nil {
            (reply.status, reply.body) = (304, Data())
        } else if let start = exchange.headers[.range]?.dropFirst(6).dropLast(), let start = Int(start) {
            (reply.status, reply.body) = (206, Data(file.dropFirst(start)))
            reply.headers[.contentRange] = "bytes \(start)-\(file.count - 1)/\(file.count)"
        }
        exchange.respond(reply)
    }

    /// The head, and the greater part of the body. A range is not answered as one: the file comes whole.
    private func begin(_ exchange: MockExchange) {
        let file = file(exchange)
        var fields = fields(exchange, "max-age=60")
        fields[.contentLength] = "\(file.count)"
        exchange.receiveHead(headers: fields)
        exchange.receive(file.prefix(file.count * 9 / 10))
    }

    private func end(_ exchange: MockExchange) {
        let file = file(exchange)
        exchange.receive(Data(file.dropFirst(file.count * 9 / 10)))
        exchange.finish()
    }
}

/// Counts the decodings that run at a time, and knows the pixels that are alive.
final class StormDecoder: ImageDecoding {
    private struct WeakBuffer: Sendable {
        weak let buffer: PixelBuffer?
    }

    private struct State {
        var running = 0
        var most = 0
        var buffers: [WeakBuffer] = []
    }

    let formats: Set<ImageFormat> = [.bmp]
    private let state = Lock(State())

    /// The most decodings at a time.
    var most: Int { state.withLock { $0.most } }
    /// The pictures that somebody still has.
    var liveCount: Int { state.withLock { $0.buffers }.count { $0.buffer != nil } }

    func decode(_ data: Data, header: ImageHeader, options: ImageDecodingOptions) throws -> DecodedImage {
        state.withLock { state in
            state.running += 1
            state.most = max(state.most, state.running)
        }
        defer { state.withLock { $0.running -= 1 } }
        let stride = (header.width * 3 + 3) / 4 * 4
        guard data.count >= 54 + stride * header.height else { throw ImageError.damaged(.bmp, "it ends early") }
        let buffer = try PixelBuffer(byteCount: header.width * header.height * 4) { pixels in
            // Of one colour: the bytes for green and blue are of no interest here.
            pixels.initializeMemory(as: UInt8.self, repeating: data[data.startIndex + 56])
        }
        state.withLock { $0.buffers.append(WeakBuffer(buffer: buffer)) }
        return DecodedImage(width: header.width, height: header.height, buffer: buffer)
    }
}
