/// The name servers of a `resolv.conf` (pure).
struct ResolverConfiguration: Equatable {
    var nameServers: [IPAddress] = []

    init(text: some StringProtocol) {
        for line in text.split(whereSeparator: \.isNewline) {
            let words = line.split(whereSeparator: { $0 == " " || $0 == "\t" })
            guard words.count >= 2, words[0] == "nameserver", let address = IPAddress(words[1]) else { continue }
            nameServers.append(address)
            // The C library looks at three.
            if nameServers.count == 3 { break }
        }
    }
}
