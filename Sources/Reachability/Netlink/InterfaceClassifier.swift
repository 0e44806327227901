import SystemSupport

/// What kind of interface a link is.
struct InterfaceClassifier {
    /// sysfs shows the namespace it was mounted in: for another one the link's own words must do.
    var usesSysfs: Bool

    func kind(of link: Link) -> NetworkInterface.Kind {
        if let kind = Self.kind(hardwareType: link.hardwareType, driver: link.driver) { return kind }
        guard usesSysfs, let deviceType = Self.deviceType(of: link) else { return Self.guess(hardwareType: link.hardwareType) }
        return Self.kind(deviceType: deviceType) ?? Self.guess(hardwareType: link.hardwareType)
    }

    /// What hardware type and driver settle by themselves (pure).
    static func kind(hardwareType: UInt16, driver: String) -> NetworkInterface.Kind? {
        if hardwareType == 772 { return .loopback }
        switch driver {
        case "tun", "wireguard", "xfrm", "vti", "vti6", "ipip", "sit", "gre", "gretap", "ip6tnl", "ip6gre", "ovpn", "ppp": return .vpn
        case "veth", "bridge", "bond", "team", "vlan", "macvlan", "ipvlan", "dsa": return .wired
        case "wwan", "rmnet": return .cellular
        case "": return nil
        default: return .other
        }
    }

    /// `DEVTYPE` of the device's uevent (pure).
    static func kind(deviceType: String) -> NetworkInterface.Kind? {
        switch deviceType {
        case "wlan": .wifi
        case "wwan": .cellular
        case "bridge", "vlan", "bond", "dsa": .wired
        case "ppp", "wireguard": .vpn
        default: nil
        }
    }

    private static func guess(hardwareType: UInt16) -> NetworkInterface.Kind {
        switch hardwareType {
        case 1: .wired
        case 512, 65_534, 768, 769, 776, 778: .vpn
        case 801, 802, 803: .wifi
        case 519, 530: .cellular
        default: .other
        }
    }

    private static func deviceType(of link: Link) -> String? {
        guard !link.name.contains("/"), link.name != ".", link.name != "..",
            let uevent = SmallFile.text(at: "/sys/class/net/\(link.name)/uevent", limit: 4096)
        else { return nil }
        var values: [Substring: Substring] = [:]
        for line in uevent.split(separator: "\n") {
            let parts = line.split(separator: "=", maxSplits: 1)
            if parts.count == 2 { values[parts[0]] = parts[1] }
        }
        // Another namespace's link of the same name is not the one we mean.
        guard values["IFINDEX"].flatMap({ UInt32($0) }) == link.index else { return nil }
        return values["DEVTYPE"].map(String.init)
    }
}
