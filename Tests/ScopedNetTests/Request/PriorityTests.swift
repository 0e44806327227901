import CleanSlate
import Testing

@testable import ScopedNet

@Suite(.leavesNothing) struct PriorityTests {
    @Test func prioritiesAreOrdered() {
        #expect(Priority.allCases == Priority.allCases.sorted())
        #expect(Priority.veryLow < .low && .low < Priority.normal && .normal < Priority.high && .high < Priority.veryHigh)
        #expect(Priority.allCases.map(\.description) == ["veryLow", "low", "normal", "high", "veryHigh"])
        #expect(Priority.allCases.map(\.level) == [0, 1, 2, 3, 4])
        let isBelowItself = Priority.allCases.contains { $0 < $0 }
        #expect(!isBelowItself)
    }
}
