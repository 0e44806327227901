import CleanSlate
import Glibc
import ScopedNetService
import ScopedNetTesting
import ScopedNetViews
import Testing

/// The activity of the network as a status of systemd.
@MainActor @Suite(.leavesNothing, .timeLimit(.minutes(3))) struct ActivityStatusTests {
    /// A socket as systemd has one.
    private final class Listener {
        let name = "@scopednet-views-\(getpid())-\(UInt64.random(in: 0 ... .max))"
        private let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)

        init() {
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            let bytes = [0] + Array(name.utf8.dropFirst())
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
            let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
            let code = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
            }
            #expect(code == 0)
        }

        deinit { close(descriptor) }

        /// The datagrams that are there.
        func take() -> [String] {
            var all: [String] = []
            var buffer = [UInt8](repeating: 0, count: 8_192)
            while case let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT)), count >= 0 {
                all.append(String(decoding: buffer[..<count], as: UTF8.self))
            }
            return all
        }
    }

    /// ACT-3.
    @Test func systemdIsToldOfEachChange() async throws {
        let listener = Listener()
        let notifier = try SystemdNotifier(socket: listener.name)
        var indicator: NetworkActivityIndicator? = NetworkActivityIndicator(ViewObserver())
        indicator?.increment()
        let changes = try #require(indicator).makeChanges()
        async let report: Void = notifier.reportStatus(of: changes, active: "transferring", idle: "waiting")
        var told: [String] = []
        await eventually {
            told += listener.take(); return told.count == 1
        }
        indicator?.isEnabled = true
        await eventually {
            told += listener.take(); return told.count == 2
        }
        indicator?.isEnabled = false
        await eventually {
            told += listener.take(); return told.count == 3
        }
        #expect(told == ["STATUS=waiting", "STATUS=transferring", "STATUS=waiting"])
        indicator = nil
        await report
    }
}
