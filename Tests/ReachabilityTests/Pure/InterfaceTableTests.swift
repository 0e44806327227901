import CNetlink
import CleanSlate
import Testing

@testable import Reachability

@Suite(.leavesNothing) struct InterfaceTableTests {
    private func link(_ index: UInt32 = 3, name: String = "a", driver: String = "veth", type: UInt16 = 1, flags: UInt32 = 1) -> Link {
        Link(index: index, name: name, hardwareType: type, flags: flags, operationalState: 6, driver: driver)
    }

    private func address(_ text: String = "10.0.0.1", on interface: UInt32 = 3, tentative: Bool = false) throws -> LocalAddress {
        let address = try #require(IPAddress(text))
        return LocalAddress(
            key: .init(interface: interface, address: address, prefixLength: 8), flags: tentative ? UInt32(IFA_F_TENTATIVE) : 0)
    }

    /// Looking a kind up may read a file of sysfs.
    @Test func aLinkIsClassifiedAgainOnlyWhenItIsAnother() {
        var table = InterfaceTable()
        var asked = 0
        func insert(_ link: Link) -> Bool {
            let effect = table.insert(link) { _ in
                asked += 1
                return asked == 1 ? .wired : .wifi
            }
            return effect.isReasonToLook
        }
        let isNew = insert(link())
        let isSame = insert(link(flags: 0x101))
        #expect(isNew && !isSame && asked == 1 && table.links[3]?.kind == .wired)
        for (count, other) in [link(name: "b"), link(name: "b", driver: ""), link(name: "b", driver: "", type: 2)].enumerated() {
            let isOther = insert(other)
            #expect(isOther && asked == count + 2 && table.links[3]?.kind == .wifi)
        }
    }

    @Test func aLinkTakesItsAddressesAlongAndNoOthers() throws {
        var table = InterfaceTable()
        let (mine, others) = (try address(), try address(on: 4))
        let changes = [table.insert(mine), table.insert(others), table.insert(mine), table.remove(link: 3)]
        #expect(changes.map(\.isReasonToLook) == [true, true, false, true])
        #expect(Array(table.addresses.values) == [others])
    }

    @Test func anAddressThatBecomesReadyIsAReasonToLook() throws {
        var table = InterfaceTable()
        let changes = [table.insert(try address(tentative: true)), table.insert(try address()), table.insert(try address())]
        #expect(changes.map(\.isReasonToLook) == [true, true, false])
    }

    @Test func anUnreadyAddressCountsOnItsLinkInItsFamilyIfItCouldBeASource() throws {
        var table = InterfaceTable()
        for unready in [
            try address("fd00::1", tentative: true), try address("fe80::2", on: 4, tentative: true), try address("fd00::3", on: 5),
        ] {
            _ = table.insert(unready)
        }
        func counts(_ interface: UInt32, _ family: IPAddress.Family) -> Bool { table.hasUnreadyAddress(on: interface, family: family) }
        #expect(counts(3, .v6))
        #expect(!counts(3, .v4) && !counts(2, .v6))
        #expect(!counts(4, .v6), "link-local")
        #expect(!counts(5, .v6), "ready")
    }

    @Test func aSourceIsUnreadyWhereEveryAddressOfItIs() throws {
        var table = InterfaceTable()
        let source = try #require(IPAddress("fd00::1"))
        #expect(!table.isUnready(source, on: 3), "unknown")
        _ = table.insert(try address("fd00::1", tentative: true))
        #expect(table.isUnready(source, on: 3))
        _ = table.insert(try address("fd00::1", on: 4))
        #expect(!table.isUnready(source, on: 3))
    }

    /// Events as they come: `ifinfomsg` and `ifaddrmsg` of rtnetlink(7).
    private func apply(_ type: Int, _ payload: [UInt8], to table: inout InterfaceTable) -> Bool {
        var request = NetlinkRequest(type: type, flags: 0, sequence: 1)
        for byte in payload { request.append(byte) }
        let bytes = request.finished()
        return bytes.withUnsafeBytes { raw in
            var messages = NetlinkMessages(raw)
            guard let message = messages.next() else { return false }
            return table.apply(message) { _ in .wired }.isReasonToLook
        }
    }

    @Test func whatCannotBeReadIsNoReasonToLookAndWhatIsNotKeptIs() throws {
        var table = InterfaceTable()
        let before = table
        let garbled = [RTM_NEWLINK, RTM_DELLINK, RTM_NEWADDR, RTM_DELADDR].map { apply(Int($0), [0, 0], to: &table) }
        let nameless = apply(Int(RTM_NEWLINK), [0, 0, 1, 0, 3, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 5, 0, 16, 0, 6, 0, 0, 0], to: &table)
        #expect(garbled == [false, false, false, false] && !nameless && table == before)
        let rules = [RTM_NEWRULE, RTM_DELRULE, 104].map { apply(Int($0), [], to: &table) }
        #expect(rules == [true, true, true])
    }

    @Test func whatADumpNoLongerHoldsIsLost() throws {
        var old = InterfaceTable()
        for link in [link(), link(4, name: "b"), link(5, name: "c", flags: 0), link(6, name: "d")] { _ = old.insert(link) { _ in .wired } }
        for address in [try address(), try address("10.0.0.2"), try address("10.0.0.3", tentative: true)] { _ = old.insert(address) }
        var new = InterfaceTable()
        for link in [link(), link(4, name: "b", flags: 0), link(7, name: "e", flags: 0)] { _ = new.insert(link) { _ in .wired } }
        for address in [try address(tentative: true), try address("10.0.0.2"), try address("10.0.0.9")] { _ = new.insert(address) }
        #expect(new.losses(since: old) == Losses(interfaces: [4, 6], addresses: [IPAddress(10, 0, 0, 1)]))
        #expect(old.losses(since: InterfaceTable()).isEmpty && old.losses(since: old).isEmpty)
    }

    @Test func aRemovedAddressIsGone() throws {
        var table = InterfaceTable()
        _ = table.insert(try address())
        let isReason = apply(Int(RTM_DELADDR), [2, 8, 0, 0, 3, 0, 0, 0, 8, 0, 2, 0, 10, 0, 0, 1], to: &table)
        #expect(isReason && table.addresses.isEmpty)
    }
}

extension InterfaceTable.Effect {
    fileprivate var isReasonToLook: Bool { self != .none }
}
