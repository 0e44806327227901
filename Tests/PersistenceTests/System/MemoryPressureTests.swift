import CleanSlate
import FoundationEssentials
import Glibc
import Testing

@testable import Persistence

/// S0-1
@Suite(.leavesNothing) struct MemoryPressureTests {
    let folder = TestFolder()

    @Test func aPipeTells() async throws {
        let path = folder.path + "/pipe"
        mkfifo(path, 0o600)
        let (told, continuation) = AsyncStream<Void>.makeStream()
        let monitor = try MemoryPressureMonitor(environment: ["MEMORY_PRESSURE_WATCH": path]) { continuation.yield() }
        #expect(monitor.source == .serviceManager(path: path))
        let end = open(path, O_WRONLY | O_NONBLOCK)
        write(end, "x", 1)
        for await _ in told { break }
        close(end)
        withExtendedLifetime(monitor) {}
    }

    @Test func aSocketTellsAndGetsWhatWasToBeWritten() async throws {
        let path = folder.path + "/socket"
        let listener = try #require(UnixListener(path))
        let (told, continuation) = AsyncStream<Void>.makeStream()
        let monitor = try MemoryPressureMonitor(environment: ["MEMORY_PRESSURE_WATCH": path, "MEMORY_PRESSURE_WRITE": "aGk="]) {
            continuation.yield()
        }
        let peer = accept(listener.descriptor, nil, nil)
        var buffer = [UInt8](repeating: 0, count: 8)
        #expect(read(peer, &buffer, 8) == 2 && buffer.prefix(2) == [0x68, 0x69])
        write(peer, "x", 1)
        for await _ in told { break }
        close(peer)
        withExtendedLifetime(monitor) {}
    }

    /// The kernel's own file: it accepts the trigger, where it has one. Pressure itself nobody makes in a test.
    @Test(.enabled(if: access("/proc/pressure/memory", W_OK) == 0))
    func theKernelTakesTheTrigger() throws {
        let roots = MemoryPressurePlan.Roots(membership: "/nowhere", controlGroups: [], machine: "/proc/pressure/memory")
        do throws(StoreError) {
            let monitor = try MemoryPressureMonitor(environment: [:], roots: roots) {}
            #expect(monitor.source == .machine)
        } catch {
            // A kernel with PSI off at boot, or a sandbox that forbids it, says so.
            #expect(error.code == .unavailable)
        }
    }

    @Test func whatCannotBeHeardThrows() {
        let roots = MemoryPressurePlan.Roots(membership: "/nowhere", controlGroups: [], machine: folder.path + "/none")
        let error = #expect(throws: StoreError.self) { try MemoryPressureMonitor(environment: [:], roots: roots) {} }
        #expect(error?.code == .unavailable)
        #expect(throws: StoreError.self) { try MemoryPressureMonitor(environment: ["MEMORY_PRESSURE_WATCH": "/dev/null"]) {} }
    }

    @Test func pressureEmptiesMemoryAndKeepsWhatWaited() async throws {
        let path = folder.path + "/pipe"
        mkfifo(path, 0o600)
        let log = EventLog()
        let store = Store(
            folder.configuration {
                $0.limits.dirtyAge = .seconds(3600)
                $0.onEvent = log.sink
            })
        await store.opened()
        store.put(NewStoreEntry(key: EntryKey("a"), metadata: Data([1])))
        let monitor = try MemoryPressureMonitor(relieving: [store], environment: ["MEMORY_PRESSURE_WATCH": path])
        let end = open(path, O_WRONLY | O_NONBLOCK)
        write(end, "x", 1)
        let event = await log.first { if case .wrote = $0 { true } else { false } }
        #expect(event == .wrote(keys: 1))
        close(end)
        let found = await store.lookup(EntryKey("a"))
        #expect(found.entries.count == 1)
        await store.close()
        withExtendedLifetime(monitor) {}
    }
}

/// A listening socket of the file system.
private final class UnixListener {
    let descriptor: Int32

    init?(_ path: String) {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8) + [0]
        guard bytes.count <= MemoryLayout.size(ofValue: address.sun_path) else { return nil }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        let isBound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        guard isBound, listen(descriptor, 1) == 0 else { return nil }
    }

    deinit { close(descriptor) }
}
