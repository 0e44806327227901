import CleanSlate
import ScopedNet
import Testing

@Suite(.leavesNothing) struct PriorityTests {
    @Test func prioritiesAreOrdered() {
        #expect(Priority.allCases == Priority.allCases.sorted())
        #expect(Priority.veryLow < .low && .low < Priority.normal && .normal < Priority.high && .high < Priority.veryHigh)
        #expect(Priority.allCases.map(\.description) == ["veryLow", "low", "normal", "high", "veryHigh"])
    }
}
