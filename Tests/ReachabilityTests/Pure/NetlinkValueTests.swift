import CleanSlate
import Testing

@testable import Reachability

/// Values as they are read, from bytes written by hand.
@Suite(.leavesNothing) struct NetlinkValueTests {
    private func first<Result>(_ bytes: [UInt8], _ read: (NetlinkMessage?) -> Result) -> Result {
        bytes.withUnsafeBytes { raw in
            var messages = NetlinkMessages(raw)
            return read(messages.next())
        }
    }

    private func message(_ type: UInt8, flags: UInt8 = 0, _ payload: [UInt8]) -> [UInt8] {
        [UInt8(16 + payload.count), 0, 0, 0, type, 0, flags, 0, 1, 2, 3, 4, 5, 6, 7, 8] + payload
    }

    @Test func aHeaderAloneIsAMessage() {
        first(message(3, flags: 0x10, [])) { message in
            #expect(message?.type == 3 && message?.flags == 0x10 && message?.payload.isEmpty == true)
            #expect(message?.sequence == 0x0403_0201 && message?.port == 0x0807_0605)
            #expect(message?.isDone == true && message?.isError == false && message?.isInterrupted == true && message?.errorCode == nil)
        }
        first(message(2, flags: 0x0f, [0xed, 0xff, 0xff, 0xff])) { message in
            #expect(message?.isError == true && message?.isDone == false && message?.isInterrupted == false)
            #expect(message?.errorCode == 19)
        }
    }

    @Test func aNumberThatHasNoOppositeIsNoError() {
        first(message(2, [0, 0, 0, 0x80])) { #expect($0?.errorCode == nil) }
        first(message(2, [0, 0, 0, 0])) { #expect($0?.errorCode == 0) }
    }

    @Test func anAttributeMayBeEmpty() {
        first(message(24, [4, 0, 7, 0] + [5, 0, 8, 0x80, 9, 0, 0, 0] + [3, 0, 9, 0])) { message in
            let attributes = message.flatMap { RouteAttributes(of: $0, after: 0) }.map(Array.init) ?? []
            #expect(attributes.map(\.type) == [7, 8], "the bits above the type are flags, and a length below four ends the list")
            #expect(attributes.map { Array($0.payload) } == [[], [9]])
            #expect(
                message.flatMap { RouteAttributes(of: $0, after: 16) } != nil
                    && message.flatMap { RouteAttributes(of: $0, after: 17) } == nil)
        }
    }

    // MARK: Links

    private func link(family: UInt8 = 0, type: UInt8 = 1, index: UInt8 = 5, flags: [UInt8] = [1, 0, 0, 0], _ attributes: [UInt8]) -> Link? {
        first(message(16, [family, 0, type, 3, index, 0, 0, 0] + flags + [0, 0, 0, 0] + attributes)) { $0.flatMap { Link($0) } }
    }

    private let operational: [UInt8] = [5, 0, 16, 0, 6, 0, 0, 0]

    @Test func theFieldsOfALink() {
        let link = link(type: 4, flags: [0x43, 0x10, 1, 0], operational)
        #expect(link == Link(index: 5, name: "", hardwareType: 772, flags: 0x11043, operationalState: 6, driver: ""))
        #expect(link?.isLoopback == true)
        #expect(self.link(type: 5, operational)?.isLoopback == false)
        let empty = self.link([4, 0, 16, 0])
        #expect(empty?.operationalState == 0)
    }

    @Test func aLinkOfAnotherFamilyOrWithoutIndexOrStateIsNone() {
        #expect(link(family: 7, operational) == nil && link(index: 0, operational) == nil && link([]) == nil)
        #expect(link(operational + [4, 0, 11, 0]) == nil, "an event of the wireless extensions")
    }

    @Test func aLinkIsDormantBySayingSoOrByItsFlagWhereItSaysNothing() {
        func link(_ state: UInt8, _ flags: UInt32) -> Link {
            Link(index: 1, name: "a", hardwareType: 1, flags: flags, operationalState: state, driver: "")
        }
        let dormant: UInt32 = 1 << 17
        #expect(link(5, 0).isDormant && link(0, dormant).isDormant)
        #expect(!link(6, dormant).isDormant && !link(0, 0x1_ffff).isDormant && !link(1, dormant).isDormant)
    }

    // MARK: Addresses and routes

    @Test func theShortFlagsCountWithoutTheLongOnes() {
        let attributes: [UInt8] = [8, 0, 2, 0, 10, 0, 0, 1]
        let read = first(message(20, [2, 24, 0x40, 0, 9, 0, 0, 0] + attributes)) { $0.flatMap { LocalAddress($0) } }
        #expect(read == LocalAddress(key: .init(interface: 9, address: IPAddress(10, 0, 0, 1), prefixLength: 24), flags: 0x40))
        #expect(read?.isNotReady == true)
    }

    /// IFA_F_TENTATIVE, IFA_F_DADFAILED, IFA_F_OPTIMISTIC.
    @Test(arguments: [(0x40, true), (0x08, true), (0x04, true), (0x80, false), (0x20, false), (0, false)] as [(UInt32, Bool)])
    func anAddressThatIsStillCheckedIsNotReady(flags: UInt32, isNotReady: Bool) {
        let key = LocalAddress.Key(interface: 1, address: IPAddress(10, 0, 0, 1), prefixLength: 8)
        let address = LocalAddress(key: key, flags: flags)
        #expect(address.isNotReady == isNotReady)
        #expect(address.hasSameEffect(as: LocalAddress(key: key, flags: 0x80)) == !isNotReady)
        let other = LocalAddress(key: .init(interface: 2, address: key.address, prefixLength: 8), flags: flags)
        #expect(!address.hasSameEffect(as: other))
    }

    private func route(prefix: UInt8 = 24, type: UInt8 = 1, flags: UInt8 = 0, _ attributes: [UInt8]) -> Route? {
        first(message(24, [2, prefix, 0, 0, 254, 3, 0, type, flags, 0, 0, 0] + attributes)) { $0.flatMap { Route($0) } }
    }

    @Test func theFieldsOfARoute() {
        let oif: [UInt8] = [8, 0, 4, 0, 4, 0, 0, 0]
        let source: [UInt8] = [8, 0, 7, 0, 10, 0, 0, 1]
        let gateway: [UInt8] = [8, 0, 5, 0, 10, 0, 0, 254]
        let read = route(oif + source + gateway)
        var expected = Route()
        expected.interface = 4
        expected.source = IPAddress(10, 0, 0, 1)
        expected.gateway = IPAddress(10, 0, 0, 254)
        expected.type = 1
        expected.matchedPrefix = 24
        #expect(read == expected && read?.isLocal == false && read?.isLinkDown == false)
        #expect(route(type: 2, [])?.isLocal == true && route(type: 2, [])?.interface == 0)
        #expect(route([4, 0, 4, 0])?.interface == 0, "an interface without a number is none")
    }

    /// RTNH_F_DEAD and RTNH_F_LINKDOWN; RTNH_F_ONLINK is no reason.
    @Test(arguments: [(1, true), (16, true), (4, false), (0, false)] as [(UInt8, Bool)])
    func aRouteOverADeadLinkSaysSo(flags: UInt8, isDown: Bool) { #expect(route(flags: flags, [])?.isLinkDown == isDown) }

    @Test func aRouteNobodyDescribedIsAnOrdinaryOne() {
        let route = Route()
        #expect(route.interface == 0 && route.type == 1 && !route.isLinkDown && !route.isLocal && route.matchedPrefix == nil)
    }
}
