import CEpoll
import Glibc

/// Which sockets epoll watches, and for what.
///
/// libcurl takes a socket out of the set after each response and puts it back with the next request. We leave it registered and
/// do nothing when it comes back unchanged: two system calls fewer per request (a quarter of the CPU, measured). An event nobody
/// wants (the server closed an idle connection) takes it out for good. Only sockets we opened are treated so: resolver
/// descriptors are closed behind our back and leave at once.
struct SocketTable {
    private struct Entry {
        var wanted: UInt32 = 0
        var registered: UInt32 = 0
        var isOurs = false
    }

    private let epoll: Int32
    private var entries: [Entry] = []

    init(wake: Int32) throws(NetworkError) {
        epoll = epoll_create1(SEPOLL_CLOEXEC)
        guard epoll >= 0 else { throw .resources("epoll descriptor") }
        var event = epoll_event()
        event.events = SEPOLL_IN
        event.data.fd = wake
        guard epoll_ctl(epoll, EPOLL_CTL_ADD, wake, &event) == 0 else {
            let code = errno
            Glibc.close(epoll)
            throw .resources("epoll registration", code)
        }
    }

    func close() { Glibc.close(epoll) }

    func wait(into events: inout [epoll_event], timeout: Int32) -> Int {
        let count = epoll_wait(epoll, &events, Int32(events.count), timeout)
        return count < 0 ? 0 : Int(count)
    }

    mutating func opened(_ descriptor: Int32) {
        makeRoom(for: descriptor)
        entries[Int(descriptor)] = Entry(isOurs: true)
    }

    /// Takes a descriptor out that is about to be closed.
    ///
    /// close(2) does so by itself only when nobody else has the socket open (epoll(7), Q6): a child of fork(2) without exec has. Its events would
    /// then wake the thread again and again, and nothing could take it out any more.
    mutating func closing(_ descriptor: Int32) {
        guard entries.indices.contains(Int(descriptor)) else { return }
        remove(descriptor)
        entries[Int(descriptor)] = Entry()
    }

    /// Ends the connections that no transfer uses; whoever has the descriptors closes them later.
    func hangUp(exceptPorts used: Set<Int>) {
        for (index, entry) in entries.enumerated() where entry.isOurs && entry.wanted == 0 {
            // One that cannot be told apart is spared: what is paused reads on later, and its end would pass for the body's.
            guard let port = Self.localPort(of: Int32(index)), !used.contains(port) else { continue }
            shutdown(Int32(index), Int32(SHUT_RDWR))
        }
    }

    private static func localPort(of descriptor: Int32) -> Int? {
        var address = sockaddr_in6()
        var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let code = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) }
        }
        // sin_port and sin6_port are at the same place.
        return code == 0 && address.sin6_port != 0 ? Int(UInt16(bigEndian: address.sin6_port)) : nil
    }

    mutating func want(_ events: UInt32, on descriptor: Int32) {
        guard descriptor >= 0 else { return }
        makeRoom(for: descriptor)
        let index = Int(descriptor)
        entries[index].wanted = events
        guard entries[index].registered != events else { return }
        var event = epoll_event()
        event.events = events
        event.data.fd = descriptor
        var operation = entries[index].registered == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD
        var code = epoll_ctl(epoll, operation, descriptor, &event)
        if code != 0, errno == ENOENT || errno == EEXIST {
            // The number was closed and opened again without a word (curl #3597): the table was wrong, the kernel is right.
            operation = errno == ENOENT ? EPOLL_CTL_ADD : EPOLL_CTL_MOD
            code = epoll_ctl(epoll, operation, descriptor, &event)
        }
        entries[index].registered = code == 0 ? events : 0
    }

    mutating func unwant(_ descriptor: Int32) {
        guard entries.indices.contains(Int(descriptor)) else { return }
        entries[Int(descriptor)].wanted = 0
        if !entries[Int(descriptor)].isOurs { remove(descriptor) }
    }

    /// Watches nothing on a descriptor for the time being: neither its reader nor its senders would do anything.
    mutating func rest(_ descriptor: Int32) {
        guard entries.indices.contains(Int(descriptor)) else { return }
        remove(descriptor)
        entries[Int(descriptor)].wanted = 0
    }

    /// False for a wake-up nobody asked for; the socket is then taken out.
    mutating func isWanted(_ descriptor: Int32) -> Bool {
        guard entries.indices.contains(Int(descriptor)) else { return false }
        if entries[Int(descriptor)].wanted != 0 { return true }
        remove(descriptor)
        return false
    }

    private mutating func remove(_ descriptor: Int32) {
        guard entries[Int(descriptor)].registered != 0 else { return }
        entries[Int(descriptor)].registered = 0
        var event = epoll_event()
        epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, &event)
    }

    private mutating func makeRoom(for descriptor: Int32) {
        while entries.count <= Int(descriptor) { entries.append(Entry()) }
    }
}
