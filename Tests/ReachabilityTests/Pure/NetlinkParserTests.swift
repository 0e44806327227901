import CNetlink
import CleanSlate
import Glibc
import Testing

@testable import Reachability

@Suite(.leavesNothing) struct NetlinkParserTests {
    /// Builds messages as the kernel does; the parser is not asked to read its own writing alone, see `SilentChangeTests`.
    private func link(
        index: UInt32, name: String, flags: UInt32 = 0x11043, state: UInt8 = 6, driver: String? = nil, type: Int = Int(RTM_NEWLINK),
        family: UInt8 = 0
    ) -> [UInt8] {
        var message = NetlinkRequest(type: type, flags: 0, sequence: 7)
        message.append(family)
        message.append(UInt8(0))
        message.append(UInt16(1))
        message.append(index)
        message.append(flags)
        message.append(UInt32(0))
        message.append(attribute: Int(IFLA_IFNAME), Array(name.utf8) + [0])
        message.append(attribute: Int(IFLA_OPERSTATE), [state])
        if let driver {
            let kind = Array(driver.utf8) + [0]
            let nested = [UInt8(4 + kind.count), 0, UInt8(IFLA_INFO_KIND), 0] + kind
            message.append(attribute: Int(IFLA_LINKINFO) | 0x8000, nested)
        }
        return message.finished()
    }

    private func address(_ text: String, peer: String? = nil, index: UInt32 = 3, flags: UInt32 = 0x80, type: Int = Int(RTM_NEWADDR))
        -> [UInt8]
    {
        let local = IPAddress(text)?.bytes ?? []
        var message = NetlinkRequest(type: type, flags: 0, sequence: 7)
        message.append(UInt8(local.count == 4 ? AF_INET : AF_INET6))
        message.append(UInt8(24))
        message.append(UInt8(0x80))
        message.append(UInt8(0))
        message.append(index)
        if let peer { message.append(attribute: Int(IFA_ADDRESS), IPAddress(peer)?.bytes ?? []) }
        message.append(attribute: Int(peer == nil && local.count == 16 ? IFA_ADDRESS : IFA_LOCAL), local)
        message.append(attribute: Int(IFA_FLAGS), flags)
        return message.finished()
    }

    private func messages<Result>(_ bytes: [UInt8], _ body: ([NetlinkMessage]) -> Result) -> Result {
        bytes.withUnsafeBytes { body(Array(NetlinkMessages($0))) }
    }

    @Test func aLinkIsRead() {
        let link = messages(link(index: 5, name: "veth0", driver: "veth")) { Link($0[0]) }
        #expect(link?.index == 5)
        #expect(link?.name == "veth0")
        #expect(link?.driver == "veth")
        #expect(link?.isUp == true)
        #expect(link?.hasCarrier == true)
    }

    @Test func carrierFollowsTheOperationalState() {
        func link(_ flags: UInt32, _ state: UInt8) -> Link {
            Link(index: 1, name: "a", hardwareType: 1, flags: flags, operationalState: state, driver: "")
        }
        #expect(link(0x1, 6).hasCarrier)
        #expect(!link(0x10001, 2).hasCarrier, "after link-up the flag comes first and the state later")
        #expect(link(0x10001, 0).hasCarrier, "loopback and tunnels stay unknown")
        #expect(!link(0x1, 0).hasCarrier)
        #expect(!link(0x30001, 0).hasCarrier && link(0x30001, 0).isDormant)
        #expect(link(0x10001, 5).isDormant && !link(0x10001, 5).hasCarrier)
        #expect(!link(0x10001, 3).hasCarrier)
    }

    @Test func anAddressIsTheLocalOneAndNotThePeers() {
        let read = messages(address("10.5.0.1", peer: "10.5.0.2")) { LocalAddress($0[0]) }
        #expect(read?.address == IPAddress(10, 5, 0, 1))
    }

    @Test func theLongFlagsReplaceTheShortOnes() {
        let read = messages(address("fd00::1", flags: UInt32(IFA_F_TENTATIVE))) { LocalAddress($0[0]) }
        #expect(read?.flags == UInt32(IFA_F_TENTATIVE))
        #expect(read?.isNotReady == true)
    }

    @Test func aRouteIsReadWithAGatewayOfTheOtherFamily() {
        var message = NetlinkRequest(type: Int(RTM_NEWROUTE), flags: 0, sequence: 1)
        for byte: UInt8 in [2, 0, 0, 0, 254, 3, 0, 1] { message.append(byte) }
        message.append(UInt32(RTNH_F_LINKDOWN))
        message.append(attribute: Int(RTA_OIF.rawValue), UInt32(4))
        message.append(attribute: Int(RTA_VIA.rawValue), [10, 0] + (IPAddress("fe80::1")?.bytes ?? []))
        let route = messages(message.finished()) { Route($0[0]) }
        #expect(route?.interface == 4)
        #expect(route?.gateway?.description == "fe80::1%4")
        #expect(route?.isLinkDown == true)
        #expect(route?.matchedPrefix == 0)
    }

    @Test func severalMessagesOfADatagram() {
        let bytes = link(index: 1, name: "a") + link(index: 2, name: "bcd") + link(index: 3, name: "e")
        #expect(messages(bytes) { $0.compactMap { Link($0)?.name } } == ["a", "bcd", "e"])
    }

    @Test func whatIsCutShortIsNotRead() {
        let all = [link(index: 5, name: "veth0", driver: "veth"), address("10.5.0.1", peer: "10.5.0.2"), address("fd00::1")]
        for whole in all {
            for length in 0..<whole.count {
                // Cut by the transport: the message does not fit any more.
                #expect(messages(Array(whole[..<length])) { $0.count } == 0)
                // Cut and honest about it.
                guard length >= 16 else { continue }
                var cut = Array(whole[..<length])
                cut[0] = UInt8(length)
                messages(cut) { messages in
                    for message in messages { _ = (Link(message), LocalAddress(message), Route(message), message.errorCode) }
                }
            }
        }
    }

    @Test func anyBytesAreSurvived() {
        var random = SystemRandomNumberGenerator()
        let seeds = [link(index: 5, name: "veth0", driver: "veth"), address("10.5.0.1", peer: "10.5.0.2"), address("fd00::1")]
        var table = InterfaceTable()
        let rounds = Environment.isSoaking ? 1_000_000 : 50_000
        print("netlink: \(rounds) damaged datagrams")
        for round in 0..<rounds {
            var bytes = seeds[round % seeds.count] + seeds[(round / 3) % seeds.count]
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            if round % 5 == 0 {
                bytes = (0..<Int.random(in: 0...80, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
            }
            bytes.withUnsafeBytes { raw in
                for message in NetlinkMessages(raw) {
                    _ = (Route(message), message.errorCode)
                    _ = table.apply(message) { _ in .other }
                }
            }
        }
    }

    @Test func theTableEndsRightWhenWhatIsOlderThanADumpIsReplayed() {
        // Added, removed, added again; the dump shows the end of it, and the events come after.
        let events = [address("10.0.0.1"), address("10.0.0.1", type: Int(RTM_DELADDR)), address("10.0.0.1"), link(index: 3, name: "c")]
        var table = InterfaceTable()
        for bytes in [link(index: 3, name: "c"), address("10.0.0.1")] + events {
            messages(bytes) { for message in $0 { _ = table.apply(message) { _ in .wired } } }
        }
        #expect(table.addresses.count == 1)
        #expect(table.links[3]?.kind == .wired)
    }

    @Test func partsOfALinkAreNotTakenForTheWhole() {
        var table = InterfaceTable()
        func apply(_ bytes: [UInt8]) { messages(bytes) { for message in $0 { _ = table.apply(message) { _ in .wired } } } }
        apply(link(index: 3, name: "c", driver: "veth"))
        let whole = table
        // A bridge about its port: without the link's own kind.
        apply(link(index: 3, name: "c", state: 2, family: 7))
        #expect(table == whole)
        // The wireless extensions: without a state.
        var event = NetlinkRequest(type: Int(RTM_NEWLINK), flags: 0, sequence: 0)
        event.append(UInt32(1) << 16)
        event.append(UInt32(3))
        event.append(UInt32(1))
        event.append(UInt32(0))
        event.append(attribute: Int(IFLA_IFNAME), Array("c".utf8) + [0])
        event.append(attribute: Int(IFLA_WIRELESS), [0, 0, 0, 0])
        apply(event.finished())
        #expect(table == whole)
    }

    @Test func whatTakesAPathItsFootingIsALoss() {
        var table = InterfaceTable()
        func apply(_ bytes: [UInt8]) -> [InterfaceTable.Effect] {
            messages(bytes) { messages in messages.map { table.apply($0) { _ in .wired } } }
        }
        let key = LocalAddress.Key(interface: 3, address: IPAddress(10, 0, 0, 1), prefixLength: 24)
        let steps: [([UInt8], InterfaceTable.Effect)] = [
            (link(index: 3, name: "c"), .mayDiffer),
            (link(index: 3, name: "c", state: 2), .loss(3)),
            (link(index: 3, name: "c", state: 2), .none),
            (link(index: 3, name: "c"), .mayDiffer),
            (link(index: 3, name: "c", flags: 0x11002), .loss(3)),
            (address("10.0.0.1"), .mayDiffer),
            (address("10.0.0.1", type: Int(RTM_DELADDR)), .addressLoss(key)),
            (address("10.0.0.1"), .mayDiffer),
            (address("10.0.0.1", flags: 0x80 | UInt32(IFA_F_TENTATIVE)), .addressLoss(key)),
            (address("10.0.0.1", flags: 0x80 | UInt32(IFA_F_DADFAILED)), .none),
            (link(index: 3, name: "c", type: Int(RTM_DELLINK)), .loss(3)),
        ]
        for (number, (bytes, effect)) in steps.enumerated() {
            let effects = apply(bytes)
            #expect(effects == [effect], "step \(number)")
        }
        var change = KernelChange()
        change.add(.none)
        #expect(!change.mayDiffer)
        change.add(.loss(3))
        change.add(.none)
        change.add(.addressLoss(key))
        #expect(change.isUnfinished)
        #expect(change.mayDiffer && change.losses == Losses(interfaces: [3], addresses: [IPAddress(10, 0, 0, 1)]))
    }

    /// A next hop is told of before the routes over it go: one look at once may be too early.
    @Test func aNextHopThatGoesIsNotGoneYet() {
        func change(_ type: Int) -> KernelChange {
            var table = InterfaceTable()
            var change = KernelChange()
            var event = NetlinkRequest(type: type, flags: 0, sequence: 0)
            for _ in 0..<2 { event.append(UInt32(0)) }
            messages(event.finished()) { for message in $0 { change.add(table.apply(message) { _ in .wired }) } }
            return change
        }
        #expect(change(Int(RTM_DELNEXTHOP)).isUnfinished && change(Int(RTM_DELNEXTHOP)).mayDiffer)
        #expect(!change(Int(RTM_NEWNEXTHOP)).isUnfinished && change(Int(RTM_NEWNEXTHOP)).mayDiffer)
        #expect(!change(Int(RTM_DELRULE)).isUnfinished && change(Int(RTM_DELRULE)).mayDiffer)
    }

    @Test func aMessageThatChangesNothingIsNoReasonToLook() {
        var table = InterfaceTable()
        func apply(_ bytes: [UInt8]) -> Bool {
            messages(bytes) { messages in messages.map { table.apply($0) { _ in .wired } }.contains { $0 != .none } }
        }
        #expect(apply(link(index: 3, name: "c")))
        #expect(!apply(link(index: 3, name: "c", flags: 0x11043 | 0x100)), "promiscuous mode")
        #expect(apply(link(index: 3, name: "c", flags: 0x11002)), "taken down")
        #expect(apply(address("10.0.0.1")))
        #expect(!apply(address("10.0.0.1", flags: 0x80 | UInt32(IFA_F_DEPRECATED))), "routers make this flag flap")
        #expect(apply(address("10.0.0.1", index: 4)), "the same address on another link is another")
        #expect(!apply(link(index: 3, name: "c", flags: 0x11002, type: Int(RTM_DELLINK), family: 7)), "it left a bridge")
        #expect(table.links[3] != nil)
        #expect(apply(link(index: 3, name: "c", type: Int(RTM_DELLINK))))
        #expect(table.links.isEmpty && table.addresses.count == 1)
    }
}
