@testable import ScopedNet

/// Blocks of addresses and hosts to be guarded: a block is read again from what it is written as, holds its own address, and what stands for a
/// refused address is refused.
@Sendable func fuzzAddressFilter(_ input: UnsafeRawBufferPointer) {
    if let range = try? AddressFilter.Range(input.text) {
        check((try? AddressFilter.Range(range.description)) == range, "\(range) is read otherwise")
        check(range.contains(range.network), "\(range) does not hold its own address")
        let denied = AddressFilter(default: .allow, denied: [range])
        check(denied.refusal(of: range.network) != nil, "\(range) is denied, and its address is not")
    }
    let pattern = AccessPolicy.HostPattern(input.text)
    _ = pattern.matches(input.text)
    guard input.count >= 16 else { return }
    let address = IPLiteral(wire: Array(input.prefix(16)))
    let refusal = AddressFilter.publicOnly.refusal(of: address)
    check(IPLiteral(address.description) == address, "\(address) is read otherwise")
    guard address.bytes.count == 16 else { return }
    let isGlobal = address.bytes[0] & 0xe0 == 0x20 || address.bytes.starts(with: [0, 0x64, 0xff, 0x9b])
    check(isGlobal || refusal != nil, "\(address) is not global and goes through")
    if let inside = SpecialAddress.embedded(in: address), AddressFilter.publicOnly.refusal(of: inside) != nil {
        check(refusal != nil, "\(address) leads to \(inside)")
    }
}
