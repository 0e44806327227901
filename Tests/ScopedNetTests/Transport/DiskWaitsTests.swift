import Testing

@testable import ScopedNet

/// The time that a transfer that is over waits for the last bytes of its file.
@Suite struct DiskWaitsTests {
    private let second: UInt64 = 1_000_000_000

    private func limit(_ code: NetworkError.Code?, keepsPart: Bool = false, deadline: UInt64? = nil) -> UInt64 {
        DiskWaits.limit(code, keepsPart: keepsPart, deadline: deadline, now: 100 * second)
    }

    @Test func aSuccessWaitsForAsLongAsTheTotalTimeLasts() {
        #expect(limit(nil) == .max)
        #expect(limit(nil, deadline: 130 * second) == 130 * second)
        // A moment even where it is over.
        #expect(limit(nil, deadline: 100 * second) == 100 * second + second / 10)
    }

    @Test(arguments: [NetworkError.Code.idleTimeout, .connectionLost, .truncatedBody])
    func anErrorThatIsKnownIsToldSoonWithoutATotalTime(_ code: NetworkError.Code) {
        #expect(limit(code) == 101 * second)
        // The next request can use what has come.
        #expect(limit(code, keepsPart: true) == 105 * second)
        #expect(limit(code, deadline: 130 * second) == 101 * second)
        #expect(limit(code, keepsPart: true, deadline: 102 * second) == 102 * second)
    }

    @Test func theTotalTimeIsKept() {
        #expect(limit(.totalTimeout) == 100 * second + second / 10)
        #expect(limit(.totalTimeout, keepsPart: true, deadline: 99 * second) == 100 * second + second / 10)
    }
}
