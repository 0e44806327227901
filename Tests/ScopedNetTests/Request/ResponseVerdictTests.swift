import CleanSlate
import Testing

@testable import ScopedNet

@Suite(.leavesNothing)
struct ResponseVerdictTests {
    private struct Facts: ResponseFacts {
        var isResponse = true
        var isRedirection = false
        var canAuthenticate = false
        var isFromNetwork = true
        var isIntercepted = false
        var isPartHeld = false
        var isStatusAccepted = true
        var isTypeAccepted = true
    }

    /// All steps that are asked where each declines but the last.
    private func steps(_ facts: Facts) -> [ResponseVerdict] {
        var steps = [ResponseVerdict.next(after: nil, facts)]
        while let last = steps.last, last != .acceptance { steps.append(.next(after: last, facts)) }
        return steps
    }

    @Test("an accepted response is asked for nothing else")
    func accepted() {
        #expect(steps(Facts()) == [.acceptance])
        #expect(steps(Facts(isFromNetwork: false)) == [.acceptance])
        #expect(steps(Facts(isPartHeld: true)) == [.acceptance])
    }

    @Test("challenge, redirect, retry, status, type, in this order")
    func responses() {
        let all = Facts(isRedirection: true, canAuthenticate: true, isStatusAccepted: false, isTypeAccepted: false)
        #expect(steps(all) == [.challenge, .redirect, .retry, .status, .contentType, .acceptance])
        #expect(steps(Facts(isStatusAccepted: false)) == [.retry, .status, .acceptance])
        #expect(steps(Facts(isTypeAccepted: false)) == [.contentType, .acceptance])
        #expect(steps(Facts(isRedirection: true)) == [.redirect, .acceptance])
        #expect(steps(Facts(canAuthenticate: true)) == [.challenge, .acceptance])
    }

    @Test("an error is tried again before a stored response takes its place, and leads nowhere")
    func errors() {
        let error = Facts(
            isResponse: false, isRedirection: true, canAuthenticate: true, isStatusAccepted: false, isTypeAccepted: false)
        #expect(steps(error).prefix(3) == [.retry, .storedResponse, .failure])
        // The head of a response that broke off is no response.
        let broken = Facts(isResponse: false, isRedirection: false, isStatusAccepted: true)
        #expect(steps(broken).prefix(3) == [.retry, .storedResponse, .failure])
    }

    @Test(
        "interceptors of the call see a response once nothing else leads on, and before the rules for a success; an error they see elsewhere"
    )
    func intercepted() {
        let all = Facts(
            isRedirection: true, canAuthenticate: true, isIntercepted: true, isStatusAccepted: false, isTypeAccepted: false)
        #expect(steps(all) == [.challenge, .redirect, .retry, .interception, .status, .contentType, .acceptance])
        #expect(steps(Facts(isResponse: false, isIntercepted: true)).prefix(3) == [.retry, .storedResponse, .failure])
    }

    @Test("a stored response is not asked for again, nor a part that is held")
    func noRetry() {
        #expect(steps(Facts(isFromNetwork: false, isStatusAccepted: false)) == [.status, .acceptance])
        #expect(steps(Facts(isPartHeld: true, isStatusAccepted: false)) == [.status, .acceptance])
        #expect(steps(Facts(isResponse: false, isPartHeld: true)).prefix(2) == [.storedResponse, .failure])
        #expect(steps(Facts(isResponse: false, isFromNetwork: false)).prefix(2) == [.storedResponse, .failure])
    }

    @Test("a step comes after those before it, and each is a first one")
    func order() {
        for (place, verdict) in ResponseVerdict.allCases.enumerated() {
            #expect(verdict.comes(after: nil))
            for (other, declined) in ResponseVerdict.allCases.enumerated() { #expect(verdict.comes(after: declined) == (place > other)) }
        }
    }

    /// Every combination of facts, each asked at every place of the order.
    @Test func theOrderNeverGoesBackAndEndsWithAcceptance() {
        for bits in 0..<256 {
            func bit(_ number: Int) -> Bool { bits >> number & 1 == 1 }
            let facts = Facts(
                isResponse: bit(0), isRedirection: bit(1), canAuthenticate: bit(2), isFromNetwork: bit(3), isIntercepted: bit(7),
                isPartHeld: bit(4), isStatusAccepted: bit(5), isTypeAccepted: bit(6))
            let steps = steps(facts)
            #expect(steps == steps.sorted { $0.rawValue < $1.rawValue })
            #expect(Set(steps).count == steps.count)
            // An error is never decoded: `failure` declines nothing.
            #expect(facts.isResponse != steps.contains(.failure))
            for step in ResponseVerdict.allCases where step != .acceptance {
                let next = ResponseVerdict.next(after: step, facts)
                #expect(next == steps.first { $0.rawValue > step.rawValue })
            }
            #expect(ResponseVerdict.next(after: .acceptance, facts) == .acceptance)
        }
    }
}
