import FoundationEssentials
import Glibc
import SystemSupport

@testable import Persistence

/// A folder of a test's own, removed with it.
final class TestFolder: Sendable {
    let path: String

    init() {
        path = "/tmp/persistence-tests-\(getpid())-\(UInt64.random(in: 0...UInt64.max))"
        mkdir(path, 0o700)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func configuration(_ mode: StoreConfiguration.Mode = .private, _ change: (inout StoreConfiguration) -> Void = { _ in })
        -> StoreConfiguration
    {
        var configuration = StoreConfiguration(directory: path + "/store", mode: mode)
        // A slow machine is no disk that hangs.
        configuration.limits.readTimeout = .seconds(60)
        change(&configuration)
        return configuration
    }

    var folder: StoreFolder { StoreFolder(path + "/store") }

    /// The complete bodies.
    var bodies: [String] {
        Files.names(in: folder.bodies).flatMap { part in
            Files.names(in: "\(folder.bodies)/\(part)").map { "\(folder.bodies)/\(part)/\($0)" }
        }
    }

    var temporaries: [String] { Files.names(in: folder.temporary) }

    func contents(_ path: String) -> [UInt8] {
        guard let data = FileManager.default.contents(atPath: path) else { return [] }
        return [UInt8](data)
    }

    func overwrite(_ path: String, _ bytes: [UInt8]) throws { try Data(bytes).write(to: URL(filePath: path)) }
}

/// Collects what a store tells.
final class EventLog: Sendable {
    private let events = Lock<[StoreEvent]>([])
    private let stream: AsyncStream<StoreEvent>
    private let continuation: AsyncStream<StoreEvent>.Continuation

    init() { (stream, continuation) = AsyncStream.makeStream() }

    var all: [StoreEvent] { events.withLock { $0 } }

    var sink: @Sendable (StoreEvent) -> Void {
        { event in
            self.events.withLock { $0.append(event) }
            self.continuation.yield(event)
        }
    }

    /// Waits for the first event, of those not waited for yet, that is wanted.
    func first(where isWanted: (StoreEvent) -> Bool) async -> StoreEvent? {
        for await event in stream where isWanted(event) { return event }
        return nil
    }
}

/// Clocks that stand until they are moved.
final class ManualClocks: Sendable {
    private let times = Lock<(wall: Int64, monotonic: Duration)>((1_700_000_000_000, .seconds(1000)))

    var clocks: Clocks {
        Clocks(wall: { self.times.withLock { $0.wall } }, monotonic: { self.times.withLock { $0.monotonic } })
    }

    func advance(by seconds: Int64) {
        times.withLock { times in
            times.wall += seconds * 1000
            times.monotonic += .seconds(seconds)
        }
    }

    /// As if somebody set the machine's clock.
    func setWall(by seconds: Int64) { times.withLock { $0.wall += seconds * 1000 } }
}

/// Bytes that are the same for the same seed.
func pattern(_ count: Int, seed: UInt64) -> Data {
    var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
    var bytes = [UInt8](repeating: 0, count: count)
    bytes.withUnsafeMutableBytes { buffer in
        var index = 0
        while index < count {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            let word = state
            let part = min(8, count - index)
            for offset in 0..<part { buffer[index + offset] = UInt8(truncatingIfNeeded: word >> UInt64(8 * offset)) }
            index += part
        }
    }
    return Data(bytes)
}

extension StoreLookup {
    var bodies: [Data] { entries.compactMap { try? $0.body.load(limit: 1 << 30) } }
}
