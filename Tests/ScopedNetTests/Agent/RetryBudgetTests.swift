import CleanSlate
import Testing

@testable import ScopedNet

@Suite(.leavesNothing) struct RetryBudgetTests {
    private func withdraw(_ budget: inout RetryPolicy.Budget, _ now: Duration) -> Bool {
        budget.withdraw(now: now)
    }

    @Test func theReserveLetsAQuietProgramRetry() {
        var budget = RetryPolicy.Budget(now: .zero)
        for _ in 0..<5 { #expect(withdraw(&budget, .zero)) }
        #expect(!withdraw(&budget, .zero))
        #expect(!withdraw(&budget, .milliseconds(4_999)))
        #expect(withdraw(&budget, .seconds(5)))
        #expect(!withdraw(&budget, .seconds(5)))
    }

    @Test func fiveRequestsPayForOneRetry() {
        var budget = RetryPolicy.Budget(configuration: .init(reserve: 0), now: .zero)
        for _ in 0..<4 { budget.deposit(now: .zero) }
        #expect(!withdraw(&budget, .zero))
        budget.deposit(now: .zero)
        #expect(budget.available(at: .zero) >= 1)
        #expect(withdraw(&budget, .zero))
        #expect(!withdraw(&budget, .zero))
    }

    @Test func savingsAreCapped() {
        var budget = RetryPolicy.Budget(now: .zero)
        for _ in 0..<10_000 { budget.deposit(now: .zero) }
        #expect(budget.available(at: .zero) == 100)
    }

    @Test func timeRefillsTheReserveAndNoMore() {
        var budget = RetryPolicy.Budget(now: .zero)
        while budget.withdraw(now: .zero) {}
        #expect(!budget.isFull(at: .seconds(24)))
        #expect(budget.isFull(at: .seconds(25)))
        #expect(budget.available(at: .seconds(1_000_000)) == 5)
    }

    @Test func aDepositComesOnTopOfWhatTimeHasRefilled() {
        var budget = RetryPolicy.Budget(now: .zero)
        #expect(withdraw(&budget, .zero))
        budget.deposit(now: .seconds(5))
        let available = budget.available(at: .seconds(5))
        #expect(abs(available - 5.2) < 0.001)
    }

    @Test func withoutARefillTimeAddsNothing() {
        var budget = RetryPolicy.Budget(configuration: .init(reserve: 1, reserveRefill: .zero), now: .zero)
        #expect(withdraw(&budget, .zero))
        #expect(!withdraw(&budget, .seconds(1_000)))
    }

    @Test func savingsDoNotMelt() {
        var budget = RetryPolicy.Budget(now: .zero)
        for _ in 0..<100 { budget.deposit(now: .zero) }
        let saved = budget.available(at: .zero)
        #expect(budget.available(at: .seconds(3600)) == saved)
    }

    @Test func aClockThatStepsBackGivesNothing() {
        var budget = RetryPolicy.Budget(now: .seconds(100))
        while budget.withdraw(now: .seconds(100)) {}
        #expect(!withdraw(&budget, .zero))
        #expect(!withdraw(&budget, .seconds(100)))
        #expect(withdraw(&budget, .seconds(105)))
    }

    /// All requests fail for ten minutes, each would like two retries.
    @Test func anOutageCostsAFifthMoreAndTheReserve() {
        var budget = RetryPolicy.Budget(now: .zero)
        var attempts = 0
        let requests = 6_000
        for number in 0..<requests {
            let now = Duration.milliseconds(number * 100)
            budget.deposit(now: now)
            attempts += 1
            for _ in 0..<2 where budget.withdraw(now: now) { attempts += 1 }
        }
        #expect(attempts > requests)
        #expect(Double(attempts) <= Double(requests) * 1.2 + 5 + 600 / 5)
    }
}
