import CleanSlate
import Testing

@testable import ScopedNet

@Suite(.leavesNothing) struct AddressRangeTests {
    @Test(arguments: [
        ("10.0.0.0/8", "10.0.0.0", "10.255.255.255", "11.0.0.0"), ("192.168.1.0/24", "192.168.1.7", "192.168.1.255", "192.168.2.0"),
        ("172.16.0.0/12", "172.16.0.1", "172.31.255.255", "172.32.0.0"), ("0.0.0.0/0", "0.0.0.0", "255.255.255.255", "::1"),
        ("127.0.0.1", "127.0.0.1", "::ffff:127.0.0.1", "127.0.0.2"), ("::ffff:10.0.0.0/104", "10.1.2.3", "::ffff:a01:203", "11.1.2.3"),
        ("::ffff:0:0/96", "0.0.0.0", "8.8.8.8", "::1"), ("2001:db8::/32", "2001:db8::", "[2001:db8:ffff::1]", "2001:db9::"),
        ("fe80::/10", "fe80::1%eth0", "febf::1", "fec0::1"), ("::/0", "::", "ffff::", "1.2.3.4"), ("::1/128", "::1", "0:0::1", "::2"),
        ("198.18.0.0/15", "198.18.0.0", "198.19.255.255", "198.20.0.0"), ("128.0.0.0/1", "128.0.0.0", "255.0.0.0", "127.255.255.255"),
    ])
    func whatLiesInABlock(_ text: String, _ first: String, _ last: String, _ outside: String) throws {
        let range = try AddressFilter.Range(text)
        #expect(range.contains(first) && range.contains(last) && !range.contains(outside))
        let again = try AddressFilter.Range(range.description)
        #expect(again == range)
    }

    @Test(arguments: [
        "", "/", "10", "10/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/+8", "10.0.0.0/08", "10.0.0.0/8/8", "10.0.0.0/ 8",
        " 10.0.0.0/8", "10.0.0.0/8 ", "10.0.0.1/8", "192.168.1.7/24", "010.0.0.0/8", "0x0a.0.0.0/8", "256.0.0.0/8", "10.0.0.0/255.0.0.0",
        "::/129", "::1/127", "2001:db8::1/32", "fe80::%eth0/10", "[::]/0", "::ffff:10.0.0.0/8", "::ffff:10.0.0.0/95", "example.com/8",
        "1.2.3.4/\u{0662}", "10.0.0.0/0000000008",
    ])
    func whatIsNoBlock(_ text: String) {
        let error = #expect(throws: NetworkError.self) { try AddressFilter.Range(text) }
        #expect(error?.code == .invalidOption && error?.phase == .preparing)
    }

    @Test func whatIsNoAddressIsNowhere() throws {
        let everything = try [AddressFilter.Range("0.0.0.0/0"), AddressFilter.Range("::/0")]
        for text in ["", "localhost", "1.2.3", "1.2.3.4.5", "0x7f.1", "2130706433", "::g"] {
            #expect(everything.allSatisfy { !$0.contains(text) }, "\(text)")
        }
    }
}
