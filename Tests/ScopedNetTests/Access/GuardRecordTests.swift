import CleanSlate
import Testing

@testable import ScopedNet

/// The address filter's decisions about one connection.
@Suite(.leavesNothing) struct GuardRecordTests {
    private let filter = AddressFilter()

    private func literal(_ text: String) throws -> IPLiteral { try #require(IPLiteral(text)) }

    @Test func oneAdmittedAddressIsEnough() throws {
        let record = GuardRecord()
        #expect(try !record.admits(literal("127.0.0.1"), by: filter))
        #expect(try record.admits(literal("8.8.8.8"), by: filter))
        #expect(record.refusal(of: "a.test") == nil)
    }

    @Test func withoutADecisionThereIsNoRefusal() {
        #expect(GuardRecord().refusal(of: "a.test") == nil)
    }

    @Test func theRefusalNamesTheFirstAddress() throws {
        let record = GuardRecord()
        #expect(try !record.admits(literal("127.0.0.1"), by: filter))
        let one = try #require(record.refusal(of: "a.test"))
        #expect(one.hasPrefix("a.test leads to 127.0.0.1, refused by the address filter: "), "\(one)")
        #expect(try !record.admits(literal("10.0.0.1"), by: filter))
        #expect(record.refusal(of: "a.test")?.hasPrefix("a.test leads to 127.0.0.1 (and 1 more), refused") == true)
        #expect(record.refusal(of: "127.0.0.1")?.hasPrefix("127.0.0.1 (and 1 more), refused") == true)
    }

    @Test func anAddressOfAnotherFamilyIsRefused() {
        let record = GuardRecord()
        #expect(!record.admits(nil, by: filter))
        #expect(record.refusal(of: "a.test")?.contains("of a family that cannot be judged") == true)
    }
}
