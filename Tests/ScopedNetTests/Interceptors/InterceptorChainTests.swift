import CleanSlate
import Foundation
import SystemSupport
import Testing

@testable import ScopedNet

/// The turns of interceptors and run, without a run: ``InterceptorChain``.
@Suite(.leavesNothing, .timeLimit(.minutes(1))) struct InterceptorChainTests {
    private struct Closure: Interceptor {
        typealias Body = @Sendable (InterceptedRequest, InterceptedRequest.Next) async throws -> InterceptedResponse
        let body: Body
        init(_ body: @escaping Body) { self.body = body }

        func intercept(
            _ request: InterceptedRequest, context: InterceptedRequest.Context, next: InterceptedRequest.Next
        ) async throws -> InterceptedResponse { try await body(request, next) }
    }

    /// The run's side of a chain.
    private final class Side: Sendable {
        let chain: InterceptorChain
        let isOver = Latch()
        private let turns = AsyncStream<InterceptorChain.Turn>.makeStream()

        init(_ interceptors: [any Interceptor]) {
            let isOver = isOver
            chain = InterceptorChain(
                interceptors,
                InterceptedRequest.Context(
                    place: .call, runID: 7, attempt: 1, redirects: 0, tag: nil, userInfo: [:], isRefresh: false,
                    values: InterceptedRequest.Values(), stop: {}),
                mayGoOn: { !isOver.isOpen }
            ) { NetworkError(.shutdown, phase: .sending, message: "over") }
        }

        /// The next turn's end, as text.
        func turn() async -> String {
            for await turn in turns.stream {
                switch turn {
                case .send(let request): return "send \(request.url)"
                case .answer(let response): return "answer \(response.head.status)"
                case .fail(let error): return "fail \((error as? NetworkError)?.code.description ?? "\(error)")"
                }
            }
            return "nothing"
        }

        func begin(_ url: String = "/") async -> String {
            chain.begin(InterceptedRequest(url: url)) { [turns] in turns.continuation.yield($0) }
            return await turn()
        }

        func respond(_ status: Int) async -> String {
            chain.respond(.success(InterceptedResponse(status: status))) { [turns] in turns.continuation.yield($0) }
            return await turn()
        }

        func respond(_ error: NetworkError) async -> String {
            chain.respond(.failure(error)) { [turns] in turns.continuation.yield($0) }
            return await turn()
        }
    }

    @Test func theyNestInTheirOrder() async {
        func adding(_ letter: String) -> Closure {
            Closure { request, next in
                let response = try await next(InterceptedRequest(url: request.url + letter))
                return InterceptedResponse(status: response.head.status + 1)
            }
        }
        let side = Side([adding("a"), adding("b")])
        #expect(await side.begin() == "send /ab")
        #expect(side.chain.isOpen)
        #expect(await side.respond(200) == "answer 202")
        #expect(!side.chain.isOpen)
    }

    @Test func oneMayAnswerThrowOrSendAgain() async {
        #expect(await Side([Closure { _, _ in InterceptedResponse(status: 204) }]).begin() == "answer 204")
        let throwing = Closure { _, _ in throw NetworkError(.pinMismatch, phase: .sending, message: "") }
        #expect(await Side([throwing]).begin() == "fail pinMismatch")
        let again = Side([
            Closure { request, next in
                do { return try await next(request) } catch { return try await next(InterceptedRequest(url: "/again")) }
            }
        ])
        #expect(await again.begin() == "send /")
        #expect(await again.respond(NetworkError(.connectionLost, phase: .receiving, message: "")) == "send /again")
        #expect(await again.respond(200) == "answer 200")
    }

    @Test func twoCallsAtOnceAreRefused() async {
        let refused = Gathered<NetworkError.Code>()
        let side = Side([
            Closure { request, next in
                await withTaskGroup(of: InterceptedResponse?.self) { group in
                    for _ in 0..<2 {
                        group.addTask {
                            do { return try await next(request) } catch {
                                if let error = error as? NetworkError { refused.add(error.code) }
                                return nil
                            }
                        }
                    }
                    var responses: [InterceptedResponse] = []
                    for await response in group { if let response { responses.append(response) } }
                    return InterceptedResponse(status: 200 + responses.count)
                }
            }
        ])
        #expect(await side.begin() == "send /")
        while refused.all.isEmpty { await Task.yield() }
        #expect(refused.all == [.interceptorFailed])
        #expect(await side.respond(200) == "answer 201")
    }

    @Test func aCancelEndsBothSides() async {
        let thrown = Latch()
        let side = Side([
            Closure { request, next in
                do { return try await next(request) } catch let error as NetworkError {
                    #expect(error.code == .shutdown && Task.isCancelled)
                    // Nothing is sent from here on.
                    await #expect(throws: NetworkError.self) { _ = try await next(request) }
                    thrown.open()
                    throw error
                }
            }
        ])
        #expect(await side.begin() == "send /")
        side.chain.cancel()
        await thrown.wait()
        #expect(!side.chain.isOpen)
        // A run that waits for it all the same is not left to wait.
        #expect(await side.respond(200) == "fail shutdown")
    }

    @Test func nothingIsAskedForARunThatIsOver() async {
        let side = Side([
            Closure { _, _ in
                Issue.record("asked")
                return InterceptedResponse(status: 200)
            }
        ])
        side.isOver.open()
        #expect(await side.begin() == "fail shutdown")
    }

    /// The task that waits in `next` is cancelled by the program: it waits no longer, and what the interceptor returns counts once the run has its turn.
    @Test func anAbandonedCallLeavesTheExchangeToTheRun() async {
        let (abandoned, left) = (Latch(), Latch())
        let side = Side([
            Closure { request, next in
                let task = Task { try await next(request) }
                while !abandoned.isOpen { await Task.yield() }
                task.cancel()
                await #expect(throws: CancellationError.self) { _ = try await task.value }
                // The exchange is under way still.
                await #expect(throws: NetworkError.self) { _ = try await next(request) }
                left.open()
                return InterceptedResponse(status: 203)
            }
        ])
        #expect(await side.begin() == "send /")
        abandoned.open()
        await left.wait()
        #expect(await side.respond(200) == "answer 203")
    }
}
