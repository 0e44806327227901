import CleanSlate
import Testing

@testable import Reachability

/// Byte for byte what the kernel is sent, from the structures of rtnetlink(7) and the numbers of its headers.
@Suite(.leavesNothing) struct NetlinkRequestTests {
    private let sequence: UInt32 = 0x0403_0201

    /// `struct nlmsghdr`: length, type, flags, sequence, port.
    private func header(_ length: UInt8, _ type: UInt8, _ flags: [UInt8]) -> [UInt8] {
        [length, 0, 0, 0, type, 0] + flags + [1, 2, 3, 4, 0, 0, 0, 0]
    }

    @Test func allLinksAreAskedForWithoutTheirCounters() {
        // RTM_GETLINK, NLM_F_REQUEST and NLM_F_DUMP; an empty `ifinfomsg`; IFLA_EXT_MASK with RTEXT_FILTER_SKIP_STATS.
        let expected = header(40, 18, [0x01, 0x03]) + [UInt8](repeating: 0, count: 16) + [8, 0, 29, 0, 8, 0, 0, 0]
        #expect(NetlinkRequest.linkDump(sequence: sequence) == expected)
    }

    @Test func allAddressesAreAskedFor() {
        // RTM_GETADDR and an empty `ifaddrmsg`.
        #expect(NetlinkRequest.addressDump(sequence: sequence) == header(24, 22, [0x01, 0x03]) + [UInt8](repeating: 0, count: 8))
    }

    @Test func aRouteIsAskedForByItsDestination() {
        let query = RouteQuery(destination: IPAddress(192, 0, 2, 1))
        // RTM_GETROUTE, no dump; `rtmsg` of AF_INET and 32 bits, with RTM_F_LOOKUP_TABLE; RTA_DST.
        let expected = header(36, 26, [0x01, 0x00]) + [2, 32, 0, 0, 0, 0, 0, 0] + [0, 0x10, 0, 0] + [8, 0, 1, 0, 192, 0, 2, 1]
        #expect(NetlinkRequest.route(query, matchingTable: false, sequence: sequence) == expected)
        // With RTM_F_FIB_MATCH as well.
        let matching = header(36, 26, [0x01, 0x00]) + [2, 32, 0, 0, 0, 0, 0, 0] + [0, 0x30, 0, 0] + [8, 0, 1, 0, 192, 0, 2, 1]
        #expect(NetlinkRequest.route(query, matchingTable: true, sequence: sequence) == matching)
    }

    @Test func theQuestionTellsWhoseSocketItIsAbout() {
        let query = RouteQuery(destination: IPAddress(192, 0, 2, 1), port: 443, mark: 0x11, uid: 1_000, interface: 3)
        let bytes = NetlinkRequest.route(query, matchingTable: false, sequence: sequence)
        // RTA_OIF, RTA_MARK, RTA_UID; RTA_IP_PROTO says TCP, and RTA_DPORT is in network byte order; both are padded.
        let expected: [UInt8] =
            [8, 0, 4, 0, 3, 0, 0, 0] + [8, 0, 16, 0, 0x11, 0, 0, 0] + [8, 0, 25, 0, 0xe8, 3, 0, 0] + [5, 0, 27, 0, 6, 0, 0, 0]
            + [6, 0, 29, 0, 0x01, 0xbb, 0, 0]
        #expect(Array(bytes[36...]) == expected && bytes[0] == 76)
    }

    @Test func aScopeIsTheInterfaceUnlessAnotherIsNamed() throws {
        let address = try #require(IPAddress("fe80::1%4"))
        let scoped = NetlinkRequest.route(RouteQuery(destination: address), matchingTable: false, sequence: 1)
        #expect(Array(scoped[16..<18]) == [10, 128])
        #expect(Array(scoped[48...]) == [8, 0, 4, 0, 4, 0, 0, 0])
        let named = NetlinkRequest.route(RouteQuery(destination: address, interface: 7), matchingTable: false, sequence: 1)
        #expect(Array(named[48...]) == [8, 0, 4, 0, 7, 0, 0, 0])
        let unscoped = NetlinkRequest.route(RouteQuery(destination: address.with(scopeID: 0)), matchingTable: false, sequence: 1)
        #expect(unscoped.count == 48)
    }
}
