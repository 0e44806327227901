import CCurl
import CEpoll
import Glibc
import SystemSupport

/// The loop on the network thread: epoll, one curl multi handle, and the transfers in it. No other thread touches anything here, which
/// ``preconditionOnNetworkThread()`` asserts.
final class CurlLoop {
    let settings: ConnectionSettings
    let thread: NetworkThread
    let batch = DeliveryBatch()

    // Safety of the unchecked accesses: one thread, and what changes these values in place calls neither libcurl nor a sink meanwhile.
    @exclusivity(unchecked) var sockets: SocketTable
    /// Those whose connection stands, by their sockets.
    @exclusivity(unchecked) var channels: [Int32: CurlEasy] = [:]
    /// Those that had more to do in the last turn.
    @exclusivity(unchecked) var keen: [TransferID] = []
    let pools: CurlPools
    let profile: EasyProfile

    @exclusivity(unchecked) private var active = TransferTable<CurlEasy>()
    @exclusivity(unchecked) private var idle: [CurlEasy] = []
    @exclusivity(unchecked) private var unflushed = UnflushedFiles()
    @exclusivity(unchecked) private var waits = DiskWaits()
    let lookups: TransferLookups
    @exclusivity(unchecked) private var commands: [NetworkThread.Command] = []
    /// When the next of our own clocks may run out.
    @exclusivity(unchecked) private var nextSweep = never
    @exclusivity(unchecked) private var clock = LoopClock(now: monotonicNow())
    /// CLOCK_MONOTONIC in nanoseconds. Read twice in each turn.
    var now: UInt64 { clock.now }
    /// The same moment for those who count otherwise.
    @exclusivity(unchecked) private(set) var moment = Moment.now
    private var stopping: (@Sendable () -> Void)?
    /// There may be connections that nothing was sent on.
    @exclusivity(unchecked) var hasPreconnected = false
    /// Why the latest socket(2) failed; 0 when it did not.
    var socketError: Int32 = 0

    private static let never = UInt64.max
    private static let maxIdleHandles = 256

    init(settings: ConnectionSettings, thread: NetworkThread) throws(NetworkError) {
        self.settings = settings
        self.thread = thread
        profile = EasyProfile(settings: settings)
        pools = CurlPools(thread: thread)
        lookups = TransferLookups(NameLookups(total: settings.limits.total, perHost: settings.limits.perHost))
        sockets = try SocketTable(wake: thread.wakeDescriptor)
    }

    /// Traps in debug builds where another thread calls.
    @inline(__always)
    func preconditionOnNetworkThread(_ function: StaticString = #function) { thread.preconditionIsCurrent(function) }

    // MARK: The thread

    func run() {
        thread.markCurrent()
        CurlGlobal.loopStarted(wake: thread.wakeDescriptor)
        pools.open(for: self)
        var events = [epoll_event](repeating: epoll_event(), count: 256)
        while stopping == nil {
            if CurlGlobal.mustPark { CurlGlobal.parkForever() }
            readClocks()
            drainCommands()
            moveKeen()
            beginPostponed()
            flushFiles()
            batch.end()
            guard stopping == nil else { break }
            pools.closeRetired()
            let timeout = thread.prepareToSleep() ? sleepTime() : 0
            let count = sockets.wait(into: &events, timeout: timeout)
            if timeout != 0 { thread.didWake() }
            readClocks(asleep: timeout)
            handle(events, count)
            // What libcurl does may block (name resolution, files of certificates). Where more sockets are ready than were looked at, the
            // time since their last byte is the loop's own doing.
            if count < events.count { runClocks() }
            flushFiles()
            batch.end()
        }
        close()
        CurlGlobal.loopEnded(wake: thread.wakeDescriptor)
        stopping?()
    }

    /// Reads the clocks. When this thread stood still since it read them last, the clocks for silence are put forward by that.
    ///
    /// - Parameter milliseconds: the time for which it meant to sleep meanwhile; -1 for as long as nothing happens.
    private func readClocks(asleep milliseconds: Int32 = 0) {
        let delay = clock.advance(to: monotonicNow(), asleep: milliseconds)
        moment = .now
        guard delay > 0 else { return }
        for easy in active.values { easy.clocks.credit(delay, now: now) }
    }

    private func close() {
        var refused = thread.close()
        for easy in active.values { easy.fail(with: .stopped(easy)) }
        for easy in active.values { finish(easy, CURLE_ABORTED_BY_CALLBACK) }
        for id in waits.all { endWait(id, .shutdown, "the transport was shut down") }
        refuse(&refused)
        batch.end()
        // Their threads go on and touch nothing of this loop (CURLOPT_QUICK_EXIT).
        for easy in lookups.takeAbandoned() {
            leaveMulti(easy)
            recycle(easy)
        }
        for easy in idle { easy.destroy() }
        idle = []
        pools.close()
        sockets.close()
    }

    private func refuse(_ commands: inout [NetworkThread.Command]) {
        for command in commands {
            switch command {
            case .start(let transfer, let sink):
                let error = NetworkError(
                    .shutdown, phase: .preparing, message: "the transport was shut down", runID: transfer.runID,
                    attempt: transfer.attempt)
                sink.transfer(transfer.id, didFinishWith: TransferResult(error: error), batch: batch)
            case .stop(let stopped): stopped()
            case .cancel, .suspend, .resume, .unpause, .prepared, .fileEnded, .renewPool: break
            }
        }
        commands = []
    }

    // MARK: Commands

    private func drainCommands() {
        // A finished transfer starts the next one from inside, so this goes on until nothing is left.
        for _ in 0..<64 {
            thread.takeCommands(into: &commands)
            if commands.isEmpty { return }
            var started = false
            for index in commands.indices { started = perform(takeCommand(index)) || started }
            commands.removeAll(keepingCapacity: true)
            if started { kick() }
        }
    }

    /// Moved out: no copy, no counting of references.
    private func takeCommand(_ index: Int) -> NetworkThread.Command {
        var command = NetworkThread.Command.cancel(TransferID(number: 0))
        swap(&command, &commands[index])
        return command
    }

    /// - Returns: true when libcurl must be run.
    private func perform(_ command: consuming NetworkThread.Command) -> Bool {
        switch consume command {
        case .start(let transfer, let sink): return prepare(transfer, sink)
        case .prepared(let id, let outcome): return prepared(id, outcome)
        case .cancel(let id):
            guard let easy = active[id] else {
                endWait(id, .cancelled, "the transfer was cancelled")
                return false
            }
            easy.fail(with: .cancelledTransfer(easy))
            abort(easy, CURLE_ABORTED_BY_CALLBACK)
            return true
        case .suspend(let id): return setSuspended(id, true)
        case .resume(let id): return setSuspended(id, false)
        case .unpause(let id):
            guard let easy = active[id] else { return false }
            guard easy.channel == nil else {
                move(easy)
                return false
            }
            return flow(easy, easy.unpause())
        case .fileEnded(let id):
            if let wait = waits.remove(id) { wait.sink.transfer(id, didFinishWith: wait.whole, batch: batch) }
            return false
        case .renewPool:
            retirePool()
            return false
        case .stop(let stopped):
            let before = stopping
            stopping = {
                before?(); stopped()
            }
            return false
        }
    }

    /// Going on after a pause, libcurl first hands over what it kept back. Should that fail, it tells the caller and not the transfer.
    private func flow(_ easy: CurlEasy, _ changed: Bool) -> Bool {
        if easy.hasFailed || easy.body.isCutShort { finish(easy, CURLE_WRITE_ERROR) }
        return changed
    }

    private func setSuspended(_ id: TransferID, _ isSuspended: Bool) -> Bool {
        guard let easy = active[id] else {
            waits.setSuspended(id, isSuspended)
            return false
        }
        guard easy.channel == nil else { return false }
        return flow(easy, easy.setSuspended(isSuspended))
    }

    /// Files are opened elsewhere, and the transfer begins when they are.
    private func prepare(_ transfer: TransferRequest, _ sink: any TransferSink) -> Bool {
        guard let preparation = TransferPreparation(transfer, unreadPins: profile.unreadPins) else {
            return start(transfer, sink, nil)
        }
        waits.insert(transfer, sink)
        let thread = thread
        preparation.begin { outcome in
            // Nobody is left to take it.
            if !thread.post(.prepared(transfer.id, outcome)) { outcome.file?.end() }
        }
        return false
    }

    private func prepared(_ id: TransferID, _ outcome: TransferPreparation.Outcome) -> Bool {
        if let trust = outcome.trust { profile.adopt(trust) }
        guard let wait = waits.removeStart(id) else {
            outcome.file?.end()
            return false
        }
        if let error = outcome.error {
            refuse(wait.transfer, wait.sink, error)
            return false
        }
        guard start(wait.transfer, wait.sink, outcome.file) else { return false }
        if wait.isSuspended { _ = setSuspended(id, true) }
        return true
    }

    private func start(_ transfer: TransferRequest, _ sink: any TransferSink, _ file: UploadFile?) -> Bool {
        let easy = idle.popLast() ?? CurlEasy(loop: self)
        do throws(NetworkError) {
            guard let easy, let multi = pool(for: transfer) else { throw .resources("curl handle", ENOMEM) }
            do throws(NetworkError) {
                try easy.begin(transfer, sink: sink, file: file)
                guard curl_multi_add_handle(multi, easy.handle) == CURLM_OK else { throw .resources("curl transfer", ENOMEM) }
            } catch {
                if transfer.pipe != nil { pools.left(multi) }
                throw error
            }
            easy.multi = multi
            active.insert(easy, for: transfer.id)
            if transfer.isLive { pools.allow(live: 1) }
            easy.armClocks()
            return true
        } catch {
            if easy?.uploadFeed == nil { file?.end() }
            if let easy { recycle(easy) }
            refuse(transfer, sink, error)
            return false
        }
    }

    func channel(_ id: TransferID) -> CurlEasy? { active[id].flatMap { $0.channel == nil ? nil : $0 } }

    /// The multi handle that a transfer goes to.
    private func pool(for transfer: TransferRequest) -> UnsafeMutableRawPointer? {
        if transfer.pipe != nil { return pools.openApart(for: self) }
        if pools.current == nil { pools.open(for: self) }
        return pools.current
    }

    private func refuse(_ transfer: TransferRequest, _ sink: any TransferSink, _ error: NetworkError) {
        var error = error
        error.runID = transfer.runID
        error.attempt = transfer.attempt
        sink.transfer(transfer.id, didFinishWith: TransferResult(error: error), batch: batch)
    }

    // MARK: Events

    private func handle(_ events: [epoll_event], _ count: Int) {
        for index in 0..<count {
            let event = events[index]
            let descriptor = event.data.fd
            if descriptor == thread.wakeDescriptor {
                thread.clearWake()
                continue
            }
            guard sockets.isWanted(descriptor) else { continue }
            if !channels.isEmpty, let easy = channels[descriptor] {
                move(easy)
                continue
            }
            var flags: Int32 = 0
            if event.events & SEPOLL_IN != 0 { flags |= CURL_CSELECT_IN }
            if event.events & SEPOLL_OUT != 0 { flags |= CURL_CSELECT_OUT }
            if event.events & (SEPOLL_ERR | SEPOLL_HUP) != 0 { flags |= CURL_CSELECT_ERR | CURL_CSELECT_IN }
            pools.act(on: descriptor, flags)
        }
        // libcurl 8 asks to be run again at once where a socket has more to read. What was read may be all that the disk can bear.
        holdUpFiles()
        if pools.nextDeadline <= now { kick() } else { reap() }
    }

    /// Lets libcurl run what is due.
    private func kick() {
        pools.runDue(now: now)
        reap()
    }

    private func reap() { pools.reap { finish($0, $1) } }

    func finish(_ easy: CurlEasy, _ code: CURLcode) {
        switch easy.lookup {
        case .none: break
        case .running: lookups.ended(easy)
        case .postponed(let host): if !easy.hasFailed { return postpone(easy, host) }
        case .abandoned(let ticket, _): return endAbandoned(easy, ticket)
        }
        guard let id = easy.id, let sink = easy.sink else { return }
        if let pipe = easy.transfer?.pipe, code == CURLE_OK, !easy.hasFailed, easy.channel == nil { return open(easy, pipe, id, sink) }
        active.remove(id)
        if easy.transfer?.isLive == true { pools.allow(live: -1) }
        var result = easy.result(code)
        if let pipe = easy.transfer?.pipe { end(easy, pipe, result.error) }
        let (writer, transfer) = (easy.body.fileWriter, easy.transfer)
        unflushed.remove(easy)
        leaveMulti(easy)
        recycle(easy)
        if let writer, let transfer {
            let thread = thread
            switch writer.end({ thread.post(.fileEnded(id)) }) {
            case .done(let failure): if result.error == nil, let failure { result.fail(with: failure, transfer) }
            case .waits: if waits.insert(id, result, sink, writer, transfer, now: now) { return sink.transferDidLeaveConnection(id) }
            }
        }
        sink.transfer(id, didFinishWith: result, batch: batch)
    }

    private func leaveMulti(_ easy: CurlEasy) {
        guard let multi = easy.multi else { return }
        easy.leaveConnection()
        curl_multi_remove_handle(multi, easy.handle)
        easy.multi = nil
        pools.left(multi)
    }

    // MARK: Names

    /// Too many names are being looked up: the transfer is taken out and begins again when its turn comes. Its clocks go on.
    private func postpone(_ easy: CurlEasy, _ host: String) {
        guard let id = easy.id else { return }
        leaveMulti(easy)
        easy.errorText[0] = 0
        lookups.wait(id, for: host)
        // The connect clock is the loop's from here on.
        easy.armClocks()
    }

    /// Begins those whose turn has come, until none is left that could.
    private func beginPostponed() {
        while let id = lookups.next() {
            guard let easy = active[id] else { continue }
            easy.lookup = .none
            guard let transfer = easy.transfer, let multi = pool(for: transfer) else {
                easy.fail(with: .resources("curl handle", ENOMEM))
                finish(easy, CURLE_OUT_OF_MEMORY)
                continue
            }
            guard curl_multi_add_handle(multi, easy.handle) == CURLM_OK else {
                if transfer.pipe != nil { pools.left(multi) }
                easy.fail(with: .resources("curl transfer", ENOMEM))
                finish(easy, CURLE_OUT_OF_MEMORY)
                continue
            }
            easy.multi = multi
            kick()
        }
    }

    /// Ends a transfer whose name is being looked up. Its callers hear of it at once; the handle stays until the thread has ended.
    private func abandon(_ easy: CurlEasy, _ code: CURLcode) {
        guard let id = easy.id, let sink = easy.sink else { return }
        active.remove(id)
        if easy.transfer?.isLive == true { pools.allow(live: -1) }
        let result = easy.result(code)
        if let pipe = easy.transfer?.pipe { end(easy, pipe, result.error) }
        lookups.abandon(easy)
        pools.allow(abandoned: lookups.abandoned.count)
        sink.transfer(id, didFinishWith: result, batch: batch)
    }

    private func endAbandoned(_ easy: CurlEasy, _ ticket: NameLookups.Ticket) {
        lookups.endAbandoned(easy, ticket)
        pools.allow(abandoned: lookups.abandoned.count)
        leaveMulti(easy)
        recycle(easy)
    }

    // MARK: Files

    private func endWait(_ id: TransferID, _ code: NetworkError.Code, _ message: String) {
        guard let (sink, result) = waits.remove(id, code, message) else { return }
        sink.transfer(id, didFinishWith: result, batch: batch)
    }

    func noteUnflushed(_ easy: CurlEasy) {
        preconditionOnNetworkThread()
        unflushed.insert(easy)
    }

    /// Between two turns: hands over what has come for files, and holds up those transfers whose disk is slower than the network.
    private func flushFiles() { holdUp(unflushed.flush(now: now)) }

    private func holdUpFiles() { holdUp(unflushed.transfers) }

    private func holdUp(_ easies: [CurlEasy]) {
        for easy in easies {
            easy.pauseForDisk()
            if easy.hasFailed { finish(easy, CURLE_WRITE_ERROR) }
        }
    }

    /// Ends a transfer in its middle, and makes sure that the server hears of it.
    ///
    /// Before libcurl 8.15 the reset of an HTTP/2 stream waits in a buffer until something else happens on the connection, while the
    /// server goes on sending. So the connection is closed when nobody else uses it, and flushed by one who does otherwise.
    private func abort(_ easy: CurlEasy, _ code: CURLcode) {
        switch easy.lookup {
        case .running: return abandon(easy, code)
        case .postponed: if let id = easy.id { lookups.stopWaiting(id) }
        case .none, .abandoned: break
        }
        guard easy.isMultiplexed, !Capabilities.current.sendsHTTP2Resets else { return finish(easy, code) }
        let port = easy.info.localPort
        easy.forbidReuse()
        finish(easy, code)
        guard port > 0 else { return }
        active.values.first { $0.clocks.isRunning && $0.isMultiplexed && $0.info.localPort == port }?.flush()
    }

    private func recycle(_ easy: CurlEasy) {
        easy.end()
        if idle.count < Self.maxIdleHandles { idle.append(easy) } else { easy.destroy() }
    }

    // MARK: Another network

    /// What was connected and resolved so far may lead nowhere: nobody uses it again. Transfers under way go on as long as they can.
    private func retirePool() {
        guard let multi = pools.current else { return }
        let busy = active.values.count { $0.multi == multi } + lookups.abandoned.count { $0.multi == multi }
        // Their ports and not their descriptors: libcurl 7.88 tells those only of transfers that have ended.
        if active.count > 0 { sockets.hangUp(exceptPorts: Set(active.values.map(\.info.localPort))) }
        pools.retire(transfers: busy)
        lookups.networkChanged()
    }

    // MARK: Clocks

    func curlWants(timeout milliseconds: Int, for pool: UnsafeMutableRawPointer?) {
        preconditionOnNetworkThread()
        pools.wants(timeout: milliseconds, for: pool, now: now)
    }

    func arm(_ deadline: UInt64) {
        preconditionOnNetworkThread()
        if deadline < nextSweep { nextSweep = deadline }
    }

    private func runClocks() {
        for id in waits.overdue(now: now) { endWait(id, .totalTimeout, "the total time is over, and the disk has not answered") }
        guard nextSweep <= now else { return }
        nextSweep = Self.never
        takeWhatCame()
        var goesOn = false
        for easy in active.values where !runClock(ofChannel: easy) {
            if easy.goesOnInPace(now: now) { goesOn = flow(easy, true) }
            if let error = easy.overdue(now: now) {
                easy.fail(with: error)
                abort(easy, CURLE_OPERATION_TIMEDOUT)
            } else {
                easy.armClocks()
            }
        }
        if goesOn || pools.nextDeadline <= now { kick() }
    }

    /// Takes what has come since the clock was read.
    ///
    /// A process that stood still (SIGSTOP, a frozen cgroup) goes on behind its last look at the sockets, and then reads a clock that is seconds
    /// later: what came meanwhile counts before any clock runs out.
    private func takeWhatCame() {
        var events = [epoll_event](repeating: epoll_event(), count: 256)
        let count = sockets.wait(into: &events, timeout: 0)
        handle(events, count)
    }

    /// Milliseconds for epoll_wait(2); -1 when nothing is due.
    private func sleepTime() -> Int32 {
        guard keen.isEmpty else { return 0 }
        let next = min(pools.nextDeadline, nextSweep, unflushed.deadline, waits.deadline)
        guard next != Self.never else { return -1 }
        let current = monotonicNow()
        guard next > current else { return 0 }
        return Int32(clamping: (next - current + 999_999) / 1_000_000)
    }

    // MARK: Sockets

    func curlWants(_ what: Int32, on descriptor: Int32) {
        preconditionOnNetworkThread()
        switch what {
        case CURL_POLL_REMOVE: sockets.unwant(descriptor)
        case CURL_POLL_IN: sockets.want(SEPOLL_IN, on: descriptor)
        case CURL_POLL_OUT: sockets.want(SEPOLL_OUT, on: descriptor)
        case CURL_POLL_INOUT: sockets.want(SEPOLL_IN | SEPOLL_OUT, on: descriptor)
        default: break
        }
    }

    func opened(_ descriptor: Int32) {
        preconditionOnNetworkThread()
        socketError = 0
        sockets.opened(descriptor)
    }

    func closing(_ descriptor: Int32) {
        preconditionOnNetworkThread()
        sockets.closing(descriptor)
    }
}
