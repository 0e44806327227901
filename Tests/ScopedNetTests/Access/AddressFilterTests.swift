import CleanSlate
import Testing

@testable import ScopedNet

@Suite(.leavesNothing) struct AddressFilterTests {
    private func refusal(_ text: String, _ addressFilter: AddressFilter = .publicOnly) throws -> String? {
        addressFilter.refusal(of: try #require(IPLiteral(text), "\(text)"))
    }

    /// Both ends of each block, and a neighbour that is public.
    @Test(arguments: [
        ("0.0.0.0", "this network"), ("0.255.255.255", "this network"), ("10.0.0.0", "private"), ("10.255.255.255", "private"),
        ("100.64.0.0", "carrier"), ("100.127.255.255", "carrier"), ("100.100.100.200", "carrier"), ("127.0.0.1", "loopback"),
        ("127.255.255.255", "loopback"), ("169.254.0.0", "link-local"), ("169.254.169.254", "metadata"), ("169.254.255.255", "link-local"),
        ("172.16.0.0", "private"), ("172.31.255.255", "private"), ("192.0.0.0", "protocol"), ("192.0.0.192", "protocol"),
        ("192.0.2.1", "documentation"), ("192.88.99.1", "6to4"), ("192.168.0.0", "private"), ("192.168.255.255", "private"),
        ("198.18.0.0", "benchmarking"), ("198.19.255.255", "benchmarking"), ("198.51.100.1", "documentation"),
        ("203.0.113.1", "documentation"), ("224.0.0.1", "multicast"), ("239.255.255.255", "multicast"), ("240.0.0.1", "reserved"),
        ("255.255.255.254", "reserved"), ("255.255.255.255", "broadcast"), ("168.63.129.16", "metadata"),
        ("::", "unspecified"), ("::1", "loopback"), ("::7f00:1", "compatible"), ("::8.8.8.8", "compatible"),
        ("::ffff:127.0.0.1", "loopback"), ("::ffff:a00:1", "private"), ("::ffff:0:127.0.0.1", "not global"),
        ("64:ff9b::10.0.0.1", "10.0.0.1 in IPv6: private"), ("64:ff9b::169.254.169.254", "metadata"), ("64:ff9b:1::8.8.8.8", "local"),
        ("64:ff9b::1:0:0", "not global"), ("2002:7f00:1::", "127.0.0.1 in IPv6: loopback"), ("2002:c0a8:101::1", "private"),
        ("2001:db8::1", "documentation"), ("3fff:fff::1", "documentation"), ("2001::1", "Teredo"), ("2001:2::1", "protocol"),
        ("2001:1ff:ffff::", "protocol"), ("100::1", "discard"), ("5f00::1", "segment"), ("fc00::1", "unique"), ("fdff::1", "unique"),
        ("fd00:ec2::254", "unique"), ("fe80::1", "link-local"), ("fe80::1%eth0", "link-local"), ("febf::1", "link-local"),
        ("fec0::1", "site-local"), ("ff02::1", "multicast"), ("2606:4700::5efe:10.0.0.1", "10.0.0.1 in IPv6: private"),
        ("2606:4700::200:5efe:192.168.0.1", "private"), ("4000::1", "not global"), ("1::1", "not global"),
    ])
    func whatIsNotPublicIsRefused(_ text: String, _ why: String) throws {
        let refusal = try refusal(text)
        #expect(refusal?.contains(why) == true, "\(text): \(refusal ?? "nil")")
    }

    @Test(arguments: [
        "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
        "169.253.255.255",
        "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.0.3.0", "192.167.255.255", "192.169.0.0", "198.17.255.255",
        "198.20.0.0", "198.51.99.255", "203.0.112.255", "223.255.255.255", "168.63.129.15", "168.63.129.17", "2606:4700::1111",
        "2a00:1450::1", "2001:200::1", "2001:4860:4860::8888", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1",
        "2606:4700::5efe:8.8.8.8", "3ffe::1", "3fff:1000::1",
    ])
    func whatIsPublicIsNot(_ text: String) throws {
        let refusal = try refusal(text)
        #expect(refusal == nil, "\(text)")
    }

    /// Linux connects them to this machine.
    @Test func theUnspecifiedAddressesAreLoopbackByAnotherName() throws {
        let open = AddressFilter(default: .allow, denied: [try AddressFilter.Range("127.0.0.0/8"), try AddressFilter.Range("::1")])
        #expect(try refusal("0.0.0.0", open) != nil)
        #expect(try refusal("::", open) != nil)
        #expect(try refusal("8.8.8.8", open) == nil)
    }

    @Test func deniedGoesBeforeAllowedAndBothBeforeTheRest() throws {
        let mixed = AddressFilter(
            allowed: [try AddressFilter.Range("10.0.0.0/8")],
            denied: [try AddressFilter.Range("10.9.0.0/16"), try AddressFilter.Range("8.8.8.8")])
        #expect(try refusal("10.1.1.1", mixed) == nil)
        #expect(try refusal("10.9.1.1", mixed) == "denied by 10.9.0.0/16")
        #expect(try refusal("8.8.8.8", mixed) == "denied by 8.8.8.8/32" && refusal("8.8.4.4", mixed) == nil)
        #expect(try refusal("192.168.0.1", mixed) == "private")
        // What stands for a denied IPv4 address is one; what stands for an allowed one still is another address.
        #expect(try refusal("64:ff9b::8.8.8.8", mixed) == "denied by 8.8.8.8/32" && refusal("2002:808:808::", mixed) != nil)
        // Teredo has it with its bits turned over.
        let open = AddressFilter(default: .allow, denied: [try AddressFilter.Range("8.8.8.8")])
        #expect(try refusal("2001:0:4136:e378:8000:63bf:f7f7:f7f7", open) == "denied by 8.8.8.8/32")
        #expect(try refusal("2001:0:4136:e378:8000:63bf:f7f7:f7f6", open) == nil)
        #expect(try refusal("64:ff9b::10.1.1.1", mixed) != nil && refusal("::ffff:10.1.1.1", mixed) == nil)
    }

    @Test func theRestCanBeAllowedOrRefused() throws {
        let open = AddressFilter(default: .allow, denied: [try AddressFilter.Range("169.254.0.0/16")])
        let shut = AddressFilter(default: .refuse, allowed: [try AddressFilter.Range("192.0.2.0/24")])
        #expect(try refusal("127.0.0.1", open) == nil && refusal("169.254.169.254", open) != nil)
        #expect(try refusal("8.8.8.8", shut) == "not among those allowed" && refusal("192.0.2.9", shut) == nil)
    }
}
