import CCurl
import Glibc

/// The address filter's decisions about one transfer's connection.
final class GuardRecord {
    private var isOneAdmitted = false
    private var refused: [(address: String, why: String)] = []

    /// Judges an address that is about to be connected to. Nil stands for one of a family that cannot be judged.
    func admits(_ literal: IPLiteral?, by filter: AddressFilter) -> Bool {
        guard let literal else {
            refused.append(("an address", "of a family that cannot be judged"))
            return false
        }
        guard let why = filter.refusal(of: literal) else {
            isOneAdmitted = true
            return true
        }
        refused.append((literal.description, why))
        return false
    }

    /// The reason why no address of the host was left to connect to; nil where one was.
    func refusal(of host: String) -> String? {
        guard !isOneAdmitted, let first = refused.first else { return nil }
        let others = refused.count > 1 ? " (and \(refused.count - 1) more)" : ""
        let subject = host == first.address ? host : "\(host) leads to \(first.address)"
        return "\(subject)\(others), refused by the address filter: \(first.why)"
    }
}

extension CurlEasy {
    /// Asked for every address that libcurl is about to connect to, names resolved.
    func admits(_ address: UnsafePointer<curl_sockaddr>) -> Bool {
        loop.preconditionOnNetworkThread()
        guard let addressFilter = loop.settings.addressFilter else { return true }
        let record = guardRecord ?? GuardRecord()
        guardRecord = record
        return record.admits(IPLiteral(address), by: addressFilter)
    }

    /// Set when the filter has left no address to connect to.
    var guardError: NetworkError? {
        guardRecord?.refusal(of: transfer?.url.host ?? "").map { error(.addressRefused, $0, phase: .connecting) }
    }
}

extension EasyProfile {
    /// Nobody can say where a proxy connects to, or who listens on a socket in the file system.
    func checkGuard(for url: RequestURL) throws(NetworkError) {
        guard settings.addressFilter != nil else { return }
        if settings.unixSocketPath != nil { throw .unguarded("a unix socket") }
        switch settings.proxy {
        case .none: break
        case .explicit(_, _, let bypass):
            guard NoProxyList(bypass.joined(separator: ",")).contains(host: url.host, port: url.port) else { throw .unguarded("a proxy") }
        case .environment:
            guard environment?.choice(scheme: url.scheme, host: url.host, port: url.port) ?? .direct == .direct else {
                throw .unguarded("a proxy of the environment")
            }
        }
    }

    /// What passed the check goes directly, also where libcurl reads the exceptions otherwise than we do.
    func applyGuard(_ options: borrowing CurlOptions, _ easy: CurlEasy) {
        guard settings.addressFilter != nil else { return }
        options.set(CURLOPT_PROXY, "")
        options.set(CURLOPT_NOPROXY, "*")
    }
}

extension NetworkError {
    fileprivate static func unguarded(_ what: String) -> NetworkError {
        NetworkError(
            .addressRefused, phase: .preparing,
            message: "the request would go through \(what), and the address filter cannot see where that leads")
    }
}

extension IPLiteral {
    /// Nil for what is neither IPv4 nor IPv6.
    fileprivate init?(_ address: UnsafePointer<curl_sockaddr>) {
        guard let start = MemoryLayout<curl_sockaddr>.offset(of: \.addr) else { return nil }
        // Safety: libcurl's own struct is longer than the one it shows: `addrlen` bytes are there from `addr` on (CURLOPT_OPENSOCKETFUNCTION(3)).
        let bytes = UnsafeRawBufferPointer(start: UnsafeRawPointer(address) + start, count: Int(address.pointee.addrlen))
        // Where the address stands in sockaddr_in and sockaddr_in6.
        let place: Range<Int>
        switch address.pointee.family {
        case AF_INET: place = 4..<8
        case AF_INET6: place = 8..<24
        default: return nil
        }
        guard bytes.count >= place.upperBound else { return nil }
        self.init(wire: Array(bytes[place]))
    }
}
