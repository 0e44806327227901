import CleanSlate
import Foundation
import ScopedNetTesting
import Testing

@_spi(Transport) @testable import ScopedNet

/// Requests that are awaited in a bag's task.
@Suite(.leavesNothing) struct TaskScopeTests {
    private func ending(_ body: (DeallocBag, StagedTransport) async -> Void) async throws -> CancelReason? {
        let reasons = Trace()
        var reason: CancelReason?
        try await withStage { session, stage in
            let bag = DeallocBag()
            let task = Task<CancelReason?, Never> {
                await withCheckedContinuation { continuation in
                    bag.task {
                        do throws(NetworkError) { _ = try await session.request("http://h/").value() } catch {
                            reasons.add(error.description)
                            continuation.resume(returning: error.cancelReason)
                            return
                        }
                        continuation.resume(returning: nil)
                    }
                }
            }
            await stage.waitForStarts(1)
            #expect(bag.count == 2)
            await body(bag, stage)
            reason = await task.value
            #expect(bag.count == 0)
        }
        #expect(reasons.lines.count == 1)
        return reason
    }

    @Test func anAwaitedRequestEndsWithTheBag() async throws {
        let reason = try await ending { bag, _ in #expect(bag.end().cancelled == 2) }
        #expect(reason == .ownerReleased)
    }

    @Test func itIsCancelledWithTheOthers() async throws {
        let reason = try await ending { bag, _ in bag.cancelAll() }
        #expect(reason == .explicit)
    }

    @Test func inAnotherBagItEndsForTheSameReason() async throws {
        try await withStage { session, stage in
            let bag = DeallocBag()
            let other = DeallocBag()
            let ends = Trace()
            bag.task {
                do throws(NetworkError) { _ = try await session.request("http://h/").value(in: other) } catch {
                    ends.add(error.cancelReason?.description ?? "no reason")
                }
            }
            await stage.waitForStarts(1)
            bag.end()
            await ends.wait(for: 1)
            #expect(ends.lines == ["owner released"])
        }
    }

    @Test func aTaskCancelledByItselfSaysSo() async throws {
        try await withStage { session, stage in
            let bag = DeallocBag()
            let ends = Trace()
            let task = bag.task {
                do throws(NetworkError) { _ = try await session.request("http://h/").value() } catch {
                    ends.add(error.cancelReason?.description ?? "no reason")
                }
            }
            await stage.waitForStarts(1)
            task.cancel()
            await ends.wait(for: 1)
            #expect(ends.lines == ["task cancelled"])
            #expect(!bag.isEnded)
        }
    }

    @Test func aStreamOpenedInTheTaskEndsWithTheBag() async throws {
        try await withStage { session, stage in
            let bag = DeallocBag()
            let ends = Trace()
            bag.task {
                do throws(NetworkError) { _ = try await session.stream("http://h/") } catch {
                    ends.add(error.cancelReason?.description ?? "no reason")
                }
            }
            await stage.waitForStarts(1)
            bag.end()
            await ends.wait(for: 1)
            #expect(ends.lines == ["owner released"])
        }
    }

    @Test func cachedThenFreshInTheTaskEndsWithTheBag() async throws {
        try await withStage { session, stage in
            let bag = DeallocBag()
            let ends = Trace()
            bag.task {
                do { for try await _ in session.request("http://h/").cachedThenFresh() {} } catch {
                    ends.add((error as? NetworkError)?.cancelReason?.description ?? "no reason")
                }
            }
            await stage.waitForStarts(1)
            bag.end()
            await ends.wait(for: 1)
            #expect(ends.lines == ["owner released"])
        }
    }

    @Test func aDetachedTaskIsOnItsOwn() async throws {
        try await withStage { session, stage in
            let bag = DeallocBag()
            let ends = Trace()
            let started = bag.task {
                Task.detached {
                    _ = try? await session.request("http://h/").value()
                    ends.add("whole")
                }
            }
            await started.value
            await stage.waitForStarts(1)
            bag.end()
            stage.succeed(stage.started[0])
            await ends.wait(for: 1)
            #expect(ends.lines == ["whole"])
        }
    }

    private final class Page: RequestOwner, Sendable {
        let deallocBag = DeallocBag(label: "page")
        let session: Session
        init(_ session: Session) { self.session = session }

        func load() {
            deallocBag.task { [session] in _ = try? await session.request("http://h/").value() }
        }

        func loadHoldingTheBag() {
            deallocBag.task { [session, deallocBag] in _ = try? await session.request("http://h/").value(in: deallocBag) }
        }
    }

    // Runs the very check that users have.
    @Test func theScopeOfATaskIsRecognised() async throws {
        let stage = StagedTransport(unanswered: .wait)
        let session = Session(configuration: .init(customTransport: stage, agent: RequestAgent()))
        await expectScopeCancels {
            Page(session)
        } after: { page in
            page.load()
            await stage.waitForStarts(1)
        }
        await session.agent.waitUntilIdle()
    }

    @Test func aBagThatItsTaskHoldsIsNamed() async throws {
        let stage = StagedTransport(unanswered: .wait)
        let session = Session(configuration: .init(customTransport: stage, agent: RequestAgent()))
        await withKnownIssue {
            await expectScopeCancels(within: .milliseconds(50)) {
                Page(session)
            } after: { page in
                page.loadHoldingTheBag()
                await stage.waitForStarts(1)
            }
        } matching: { issue in
            let text = issue.comments.map(\.rawValue).joined()
            return text.contains("captures the bag") && text.contains("the bag page")
        }
        session.agent.cancelAll()
        await session.agent.waitUntilIdle()
    }
}
