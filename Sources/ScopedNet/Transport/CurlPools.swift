import CCurl
import SystemSupport

/// The multi handles of a loop: the one that new transfers go to, and those of networks that are gone. The network thread alone uses them.
///
/// A multi handle of its own for each network is what drops connections and names at once with every
/// libcurl: transfers of the old one may end, new ones go elsewhere. CURLMOPT_NETWORK_CHANGED (8.16)
/// spares connections in use from being joined no better, and would be a second way, which few machines take.
final class CurlPools {
    private struct Retired {
        let multi: UnsafeMutableRawPointer
        var transfers: Int
        var deadline: UInt64
        /// Its one connection stands, and is a channel's: libcurl has nothing to do there.
        var isResting = false
    }

    // Safety of the unchecked accesses: one thread. libcurl calls back into `wants(timeout:for:)` from within its own functions, which
    // are called here with no access open.

    /// The handle for new transfers; nil before the first, and behind a network that is gone.
    @exclusivity(unchecked) private(set) var current: UnsafeMutableRawPointer?
    /// The share handle of all of them; nil when there was no memory for it.
    @exclusivity(unchecked) private(set) var share: UnsafeMutableRawPointer?
    @exclusivity(unchecked) private var retired: [Retired] = []
    /// The limits of libcurl's, without those that count for nobody.
    @exclusivity(unchecked) private var limits = (pool: 0, perHost: 0)
    /// The connections that count for nobody.
    @exclusivity(unchecked) private var abandoned = 0
    @exclusivity(unchecked) private var live = 0
    /// When libcurl wants to be called without socket activity; `never` when it does not.
    @exclusivity(unchecked) private var deadline = never

    private static let never = UInt64.max
    private let thread: NetworkThread

    init(thread: NetworkThread) { self.thread = thread }

    // MARK: The current one

    /// Tried again at the next start, where there is no memory for it.
    func open(for loop: CurlLoop) {
        guard let multi = make(for: loop) else { return }
        current = multi
        if abandoned + live > 0 { allowMore() }
    }

    /// A handle for one transfer alone, which goes with it.
    func openApart(for loop: CurlLoop) -> UnsafeMutableRawPointer? {
        guard let multi = make(for: loop) else { return nil }
        retired.append(Retired(multi: multi, transfers: 1, deadline: Self.never))
        return multi
    }

    /// The connection of a channel stands: nobody asks its handle any more.
    func rest(_ multi: UnsafeMutableRawPointer) {
        thread.preconditionIsCurrent()
        guard let index = retired.firstIndex(where: { $0.multi == multi }) else { return }
        retired[index].isResting = true
        retired[index].deadline = Self.never
    }

    /// All or nothing: a multi handle without its callbacks would do no work.
    private func make(for loop: CurlLoop) -> UnsafeMutableRawPointer? {
        thread.preconditionIsCurrent()
        guard let multi = curl_multi_init() else { return nil }
        // Without it TLS sessions are not resumed across connections, which is slower and no failure.
        if share == nil { share = curl_share_init() }
        if let share { _ = scurl_share_data(share, SCURL_LOCK_DATA_SSL) }
        // Safety: the loop outlives the multi handle: `CurlLoop.close()` cleans it up before `run()` returns and releases the loop.
        let context = Unmanaged.passUnretained(loop).toOpaque()
        let limits = loop.settings.limits
        // Our own queue holds the limits; libcurl's are a net below it, and its pool must hold more than can be in flight.
        let pool = min(max(1, limits.total), Int(Int32.max) - 16) + 16
        let streams = min(max(1, limits.streamsPerHost), Int(Int32.max) / 2) + min(max(1, limits.live), Int(Int32.max) / 2)
        // To one host there may be a connection of HTTP/2 besides. To libcurl all that goes to a proxy goes to one host.
        let hostPool = loop.profile.mayUseProxy ? pool : min(max(1, limits.perHost), pool - 1) + 1
        let codes = [
            scurl_multi_set_socket_callback(multi, CurlCallbacks.socket),
            scurl_multi_set_pointer(multi, CURLMOPT_SOCKETDATA, context),
            scurl_multi_set_timer_callback(multi, CurlCallbacks.timer),
            scurl_multi_set_pointer(multi, CURLMOPT_TIMERDATA, context),
            scurl_multi_set_long(multi, CURLMOPT_PIPELINING, SCURL_PIPE_MULTIPLEX),
            scurl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, pool),
            scurl_multi_set_long(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, pool),
            scurl_multi_set_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, hostPool),
            scurl_multi_set_long(multi, CURLMOPT_MAX_CONCURRENT_STREAMS, streams),
        ]
        guard codes.allSatisfy({ $0 == CURLM_OK }) else {
            curl_multi_cleanup(multi)
            return nil
        }
        self.limits = (pool, hostPool)
        return multi
    }

    /// To libcurl a lookup is a connection from its beginning. One whose transfer has ended takes no place from others.
    func allow(abandoned count: Int) {
        abandoned = count
        allowMore()
    }

    /// A transfer that is held long has begun or ended: it takes no place of others.
    func allow(live change: Int) {
        live += change
        allowMore()
    }

    private func allowMore() {
        thread.preconditionIsCurrent()
        guard let current else { return }
        let more = min(abandoned + live, 1 << 20)
        _ = scurl_multi_set_long(current, CURLMOPT_MAX_TOTAL_CONNECTIONS, min(limits.pool, Int(Int32.max) - more) + more)
        _ = scurl_multi_set_long(current, CURLMOPT_MAX_HOST_CONNECTIONS, min(limits.perHost, Int(Int32.max) - more) + more)
    }

    /// No transfer is left in any of them.
    func close() {
        thread.preconditionIsCurrent()
        if let current { curl_multi_cleanup(current) }
        for pool in retired { curl_multi_cleanup(pool.multi) }
        retired = []
        if let share { curl_share_cleanup(share) }
        current = nil
        share = nil
    }

    // MARK: Those that are gone

    /// - Parameter transfers: those that are still in the current one.
    func retire(transfers: Int) {
        thread.preconditionIsCurrent()
        guard let current else { return }
        retired.append(Retired(multi: current, transfers: transfers, deadline: deadline))
        self.current = nil
        deadline = Self.never
    }

    /// A transfer has left this multi handle.
    func left(_ multi: UnsafeMutableRawPointer) {
        thread.preconditionIsCurrent()
        guard multi != current, let index = retired.firstIndex(where: { $0.multi == multi }) else { return }
        retired[index].transfers -= 1
    }

    /// Between turns: libcurl may not be inside a handle that is cleaned up.
    func closeRetired() {
        thread.preconditionIsCurrent()
        guard !retired.isEmpty else { return }
        for pool in retired where pool.transfers == 0 { curl_multi_cleanup(pool.multi) }
        retired.removeAll { $0.transfers == 0 }
    }

    // MARK: Running them

    /// Tells libcurl what can be done with a descriptor.
    func act(on descriptor: Int32, _ flags: Int32) {
        thread.preconditionIsCurrent()
        var running: Int32 = 0
        if let current { curl_multi_socket_action(current, descriptor, flags, &running) }
        // libcurl ignores a descriptor it does not know (curl_multi_socket_action(3)).
        for pool in retired where !pool.isResting { curl_multi_socket_action(pool.multi, descriptor, flags, &running) }
    }

    /// Lets libcurl run what is due: in the current one whatever there is, in the others what their clocks say.
    func runDue(now: UInt64) {
        thread.preconditionIsCurrent()
        var running: Int32 = 0
        if let current {
            deadline = Self.never
            curl_multi_socket_action(current, SCURL_SOCKET_TIMEOUT, 0, &running)
        }
        for index in retired.indices where retired[index].deadline <= now {
            retired[index].deadline = Self.never
            curl_multi_socket_action(retired[index].multi, SCURL_SOCKET_TIMEOUT, 0, &running)
        }
    }

    /// Takes the transfers that libcurl is done with. What is done with one may end others.
    func reap(_ body: (CurlEasy, CURLcode) -> Void) {
        thread.preconditionIsCurrent()
        if let current { Self.reap(current, body) }
        for pool in retired where !pool.isResting { Self.reap(pool.multi, body) }
    }

    private static func reap(_ multi: UnsafeMutableRawPointer, _ body: (CurlEasy, CURLcode) -> Void) {
        var handle: UnsafeMutableRawPointer?
        var code = CURLE_OK
        while scurl_next_finished(multi, &handle, &code) != 0 {
            guard let handle, let easy = CurlEasy.of(handle) else { continue }
            body(easy, code)
        }
    }

    // MARK: Clocks

    /// When the first of them wants to be called.
    var nextDeadline: UInt64 { retired.reduce(deadline) { min($0, $1.deadline) } }

    func wants(timeout milliseconds: Int, for pool: UnsafeMutableRawPointer?, now: UInt64) {
        thread.preconditionIsCurrent()
        let deadline =
            switch milliseconds {
            case ..<0: Self.never
            case 0: now
            default: monotonicNow() + UInt64(milliseconds) * 1_000_000
            }
        if let index = retired.firstIndex(where: { $0.multi == pool }) {
            if !retired[index].isResting { retired[index].deadline = deadline }
        } else {
            self.deadline = deadline
        }
    }
}
