import CNetlink

@testable import Reachability

/// Datagrams of rtnetlink(7): whatever comes is survived, hearing it twice is hearing it once, and what is told of it fits together.
@Sendable func fuzzNetlink(_ input: UnsafeRawBufferPointer) {
    var table = InterfaceTable()
    var change = KernelChange()
    var routes: [Route] = []
    var count = 0
    for message in NetlinkMessages(input) {
        count += 1
        change.add(table.apply(message, classify: classified))
        if let route = Route(message) { routes.append(route) }
        if let code = message.errorCode { check(code != .min, "no such error") }
    }
    check(count <= input.count / NetlinkMessage.headerSize, "\(count) messages in \(input.count) bytes")
    check(change.losses.isEmpty || change.mayDiffer, "a loss that is no change")
    check(table.links.allSatisfy { $0.key == $0.value.index && !$0.value.name.isEmpty }, "\(table.links)")
    check(table.addresses.allSatisfy { $0.key == $0.value.key }, "\(table.addresses)")
    var again = table
    for message in NetlinkMessages(input) { _ = again.apply(message, classify: classified) }
    check(again == table, "\(again) after the second hearing, and not \(table)")
    checkPaths(table, routes)
}

private func classified(_ link: Link) -> NetworkInterface.Kind {
    InterfaceClassifier.kind(hardwareType: link.hardwareType, driver: link.driver) ?? .other
}

/// Answers with the routes of the input, one after the other.
private struct Replies: RouteOracle {
    var routes: [Route]
    var asked = 0

    mutating func answer(_ query: RouteQuery) -> RouteAnswer {
        guard !routes.isEmpty else { return .refused(101) }
        defer { asked += 1 }
        return .route(routes[asked % routes.count])
    }
}

private func checkPaths(_ table: InterfaceTable, _ routes: [Route]) {
    var oracle = Replies(routes: routes)
    let inUse = table.links.values.map(\.interface)
    let settings = EvaluationSettings(nameServers: [IPAddress(192, 0, 2, 53)])
    for target in [NetworkPath.Target.defaultPath, .address(IPAddress(192, 0, 2, 1)), .host("host.test")] {
        let question = PathQuestion(target: target, resolved: routes.compactMap(\.gateway), inUse: inUse)
        let path = PathEvaluator(table: table, settings: settings).evaluate(question, oracle: &oracle).path
        check(path.isSatisfied == (path.supportsIPv4 || path.supportsIPv6), "\(path)")
        guard path.isSatisfied else { continue }
        check(path.interfaces.contains { table.links[$0.index]?.isUp == true }, "\(path) over nothing that is up")
        check(!path.localAddresses.contains(where: \.isUnspecified), "\(path) from nowhere")
    }
}

/// Lines of `if_inet6`: what is taken for an address is the one in the line.
@Sendable func fuzzInet6(_ input: UnsafeRawBufferPointer) {
    for line in String(decoding: input, as: UTF8.self).split(separator: "\n") {
        guard let (name, address) = ConnectRoute.ipv6Address(line) else { continue }
        let digits = address.address.bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        check(line.lowercased().drop { $0 == " " }.hasPrefix(digits + " "), "\(line) was read as \(address)")
        check(address.key.prefixLength <= 128 && !name.isEmpty, "\(line) was read as \(address)")
    }
}

/// `resolv.conf`: three servers at most, each an address, and those of the first lines whatever follows.
@Sendable func fuzzResolverFile(_ input: UnsafeRawBufferPointer) {
    let text = String(decoding: input, as: UTF8.self)
    let servers = ResolverConfiguration(text: text).nameServers
    check(servers.count <= 3, "\(servers)")
    let written = servers.map { "nameserver \($0)\n" }.joined()
    check(ResolverConfiguration(text: written).nameServers == servers, "\(servers) are read again otherwise")
    let more = ResolverConfiguration(text: text + "\nnameserver 192.0.2.53\n").nameServers
    check(Array(more.prefix(servers.count)) == servers && more.count == min(servers.count + 1, 3), "\(more) of \(servers)")
}

/// What people write for a target: a host without delimiters in it, written and read again the same.
@Sendable func fuzzTarget(_ input: UnsafeRawBufferPointer) {
    guard let target = NetworkPath.Target(String(decoding: input, as: UTF8.self)) else { return }
    let port = target.port.map { ":\($0)" } ?? ""
    switch target.subject {
    case .defaultPath: check(false, "text names no default path")
    case .host(let host):
        check(!host.isEmpty && host.utf8.count <= 253, host)
        check(!host.utf8.contains { $0 <= 0x20 || $0 == 0x7F || "/?#@:[".utf8.contains($0) }, "\(host) holds a delimiter")
        check(NetworkPath.Target(host + port) == target, "\(host)\(port) is read again otherwise")
    case .address(let address):
        // RFC 6874: in a URL the sign before a zone is escaped.
        let parts = "\(address)".split(separator: "%")
        let text = address.family == .v6 ? "[" + parts.joined(separator: "%25") + "]" : "\(address)"
        check(NetworkPath.Target(text + port) == target, "\(text)\(port) is read again otherwise")
    }
}
