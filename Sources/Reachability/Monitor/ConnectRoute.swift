import CNetlink
import Glibc
import SystemSupport

/// Routes by connect(2) on a datagram socket, which sends nothing, and interfaces by ioctl(2): what a sandbox without netlink leaves.
enum ConnectRoute {
    static func answer(_ query: RouteQuery, table: InterfaceTable) -> RouteAnswer {
        let isV4 = query.destination.family == .v4
        let descriptor = socket(isV4 ? AF_INET : AF_INET6, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return .refused(errno == EAFNOSUPPORT ? ENETUNREACH : errno) }
        defer { close(descriptor) }
        if var mark = query.mark, setsockopt(descriptor, SOL_SOCKET, 36, &mark, 4) != 0 { return .refused(EPERM) }
        if let index = query.interface {
            guard let name = table.links[index]?.name,
                setsockopt(descriptor, SOL_SOCKET, 25, name, UInt32(name.utf8.count)) == 0
            else { return .refused(ENETUNREACH) }
        }
        guard let source = connectedSource(descriptor, query) else { return .refused(errno) }
        guard let interface = interface(of: source, table) else {
            // The default route of an interface without an address: connected, and from nowhere.
            return source.isUnspecified ? .refused(EADDRNOTAVAIL) : .refused(ENETUNREACH)
        }
        var route = Route()
        route.interface = interface
        route.source = source
        let isMine = query.destination.isLoopback || table.addresses.values.contains { $0.address == query.destination }
        if isMine { route.type = UInt8(RTN_LOCAL) }
        return .route(route)
    }

    private static func interface(of source: IPAddress, _ table: InterfaceTable) -> UInt32? {
        if let address = table.addresses.values.first(where: { $0.address == source }) { return address.key.interface }
        // All of 127.0.0.0/8 is this host, and only its first address is listed.
        return source.isLoopback ? table.links.values.first(where: \.isLoopback)?.index : nil
    }

    private static func connectedSource(_ descriptor: Int32, _ query: RouteQuery) -> IPAddress? {
        let port = (query.port ?? 53).bigEndian
        let bytes = query.destination.bytes
        return withUnsafeTemporaryAllocation(byteCount: MemoryLayout<sockaddr_in6>.size, alignment: 8) { raw in
            raw.initializeMemory(as: UInt8.self, repeating: 0)
            raw.storeBytes(of: UInt16(query.destination.systemFamily), as: UInt16.self)
            raw.storeBytes(of: port, toByteOffset: 2, as: UInt16.self)
            let isV4 = bytes.count == 4
            let offset = isV4 ? 4 : 8
            for (index, byte) in bytes.enumerated() { raw[offset + index] = byte }
            if !isV4 { raw.storeBytes(of: query.destination.scopeID, toByteOffset: 24, as: UInt32.self) }
            var size = UInt32(isV4 ? MemoryLayout<sockaddr_in>.size : MemoryLayout<sockaddr_in6>.size)
            guard let address = raw.assumingMemoryBound(to: sockaddr.self).baseAddress, connect(descriptor, address, size) == 0,
                getsockname(descriptor, address, &size) == 0
            else { return nil }
            return IPAddress(bytes: raw[offset..<offset + bytes.count])
        }
    }

    // MARK: Interfaces

    /// The addresses, and every interface that the system names here.
    ///
    /// - Throws: where they cannot be read for lack of descriptors or memory.
    static func interfaceAddresses(_ descriptor: Int32) throws(SystemFailure) -> (addresses: [LocalAddress], names: [String: UInt32]) {
        var addresses: [LocalAddress] = []
        var names: [String: UInt32] = [:]
        for (name, address) in try ipv4Addresses(descriptor) {
            guard let index = names[name] ?? index(of: name, descriptor) else { continue }
            names[name] = index
            addresses.append(LocalAddress(key: .init(interface: index, address: address, prefixLength: 32), flags: 0))
        }
        // Of this thread's namespace; plain /proc/net is that of the process.
        for line in try text(at: "/proc/thread-self/net/if_inet6").split(separator: "\n") {
            guard let (name, address) = ipv6Address(line) else { continue }
            names[name] = address.key.interface
            addresses.append(address)
        }
        return (addresses, names)
    }

    /// A line of `if_inet6`: address, index, prefix length, scope and flags in hex, name (pure).
    static func ipv6Address(_ line: some StringProtocol) -> (name: String, LocalAddress)? {
        let words = line.split(separator: " ")
        guard words.count >= 6, words[0].utf8.count == 32, let index = UInt32(digits: words[1], radix: 16),
            let prefix = UInt8(digits: words[2], radix: 16), prefix <= 128, let flags = UInt32(digits: words[4], radix: 16)
        else { return nil }
        let digits = Array(words[0].utf8)
        let bytes = stride(from: 0, to: 32, by: 2).compactMap { start in
            UInt8(digits: String(decoding: digits[start..<start + 2], as: UTF8.self), radix: 16)
        }
        // Four pairs of digits among the sixteen would be an address, too.
        guard bytes.count == 16, let address = IPAddress(bytes: bytes) else { return nil }
        return (String(words[5]), LocalAddress(key: .init(interface: index, address: address, prefixLength: prefix), flags: flags))
    }

    private static let requestSize = 40
    private static let nameSize = 16

    private static let startSize = 64 * requestSize
    /// A hundred thousand addresses and more: beyond that something else is wrong.
    private static let mostBytes = 8 << 20

    /// Empty where there is no such file, as without IPv6.
    private static func text(at path: String) throws(SystemFailure) -> String {
        if let text = SmallFile.text(at: path, limit: mostBytes) { return text }
        let failure = SystemFailure(path)
        if failure.meansShortage { throw failure }
        return ""
    }

    /// SIOCGIFCONF: the IPv4 addresses, each with its interface's label. It says nothing of what did not fit.
    private static func ipv4Addresses(_ descriptor: Int32) throws(SystemFailure) -> [(String, IPAddress)] {
        var size = startSize
        while true {
            var buffer = [UInt8](repeating: 0, count: size)
            let length = try fill(&buffer, descriptor)
            if length <= size - requestSize || size >= mostBytes { return buffer[..<length].withUnsafeBytes(entries) }
            size *= 2
        }
    }

    private static func fill(_ buffer: inout [UInt8], _ descriptor: Int32) throws(SystemFailure) -> Int {
        let (code, length) = buffer.withUnsafeMutableBytes { bytes in
            // struct ifconf: a length, and a pointer at the offset of one.
            var request: (Int, UnsafeMutableRawPointer?) = (bytes.count, bytes.baseAddress)
            return (ioctl(descriptor, 0x8912, &request) == 0 ? 0 : errno, min(Int(Int32(truncatingIfNeeded: request.0)), bytes.count))
        }
        guard code == 0 else {
            let failure = SystemFailure("SIOCGIFCONF", code)
            if failure.meansShortage { throw failure }
            return 0
        }
        return max(0, length)
    }

    private static func entries(_ bytes: UnsafeRawBufferPointer) -> [(String, IPAddress)] {
        stride(from: 0, to: bytes.count - requestSize + 1, by: requestSize).compactMap { start in
            let entry = bytes.slice(from: start, to: start + requestSize)
            guard let address = IPAddress(bytes: entry[20..<24]) else { return nil }
            // An alias such as eth0:1 is eth0.
            return (String(entry.slice(from: 0, to: nameSize).text.prefix { $0 != ":" }), address)
        }
    }

    private static func request(_ code: UInt, _ name: String, _ descriptor: Int32) -> [UInt8]? {
        var bytes = Array(name.utf8.prefix(nameSize - 1))
        bytes += [UInt8](repeating: 0, count: requestSize - bytes.count)
        return ioctl(descriptor, code, &bytes) == 0 ? bytes : nil
    }

    private static func index(of name: String, _ descriptor: Int32) -> UInt32? {
        request(0x8933, name, descriptor)?.withUnsafeBytes { $0.value(at: nameSize, as: UInt32.self) }
    }

    static func link(named name: String, index: UInt32, _ descriptor: Int32) -> Link? {
        guard let flags = request(0x8913, name, descriptor)?.withUnsafeBytes({ $0.value(at: nameSize, as: UInt16.self) }) else {
            return nil
        }
        let hardware = request(0x8927, name, descriptor)?.withUnsafeBytes { $0.value(at: nameSize, as: UInt16.self) }
        // IFF_RUNNING is "operational state up or unknown" here.
        let isRunning = flags & 0x40 != 0
        return Link(
            index: index, name: name, hardwareType: hardware ?? 1, flags: UInt32(flags), operationalState: isRunning ? 6 : 2, driver: "")
    }
}
