import CleanSlate
import Testing

@testable import ScopedNet

@Suite(.leavesNothing) struct RetryAfterTests {
    /// Sun, 06 Nov 1994 08:49:37 GMT
    private let now = HTTPDate(secondsSince1970: 784_111_777)

    @Test(
        arguments: [
            ("0", 0), ("120", 120), (" 7\t", 7), ("\t7 ", 7), ("007", 7), ("99999999999999999999999", 1 << 31),
            ("Sun, 06 Nov 1994 08:50:07 GMT", 30), ("Sunday, 06-Nov-94 08:50:07 GMT", 30), ("Sun Nov  6 08:50:07 1994", 30),
            ("Sun, 06 Nov 1994 08:49:37 GMT", 0), ("Sun, 06 Nov 1994 08:00:00 GMT", 0), ("Fri, 31 Dec 9999 23:59:59 GMT", 1 << 31),
        ] as [(String, Int64)])
    func legalValues(_ value: String, _ seconds: Int64) {
        #expect(RetryAfter.delay(value, now: now) == .seconds(seconds))
    }

    @Test(arguments: ["", " ", "-1", "+5", "1.5", "5s", "5, 6", "٥", "soon", "Sun, 06 Nov 1994", "0x10", "1e3"])
    func illegalValues(_ value: String) {
        #expect(RetryAfter.delay(value, now: now) == nil)
    }

    @Test func datesAreMeasuredOnTheServersClock() {
        // The clock here is an hour behind.
        let serverDate = HTTPDate(secondsSince1970: now.secondsSince1970 + 3600)
        #expect(RetryAfter.delay("Sun, 06 Nov 1994 09:49:47 GMT", now: now, serverDate: serverDate) == .seconds(10))
        #expect(RetryAfter.delay("Sun, 06 Nov 1994 09:49:47 GMT", now: now) == .seconds(3610))
    }
}
