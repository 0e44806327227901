#if DEBUG
import CleanSlate
import FoundationEssentials
import Glibc
import HTTPTypes
import Persistence
import ScopedNet
import ScopedNetTesting
import SystemSupport
import Testing

@testable import ScopedNetImages

/// A load without a transfer that ends on its way: from the response cache, from a stored result, from memory. Nothing follows, and nothing stays.
@Suite(.leavesNothing, .noLeaks, .timeLimit(.minutes(3))) struct ImageSourceStepTests {
    /// The moments of a load that finds its result stored.
    enum ResultMoment: CaseIterable, Sendable { case fileIsLookedFor, resultIsLookedFor, resultIsDecoded }

    private let folder = TemporaryFolder()
    private let clock = ActingClock()
    private let decoder = ActingDecoder()

    private var request: ImageRequest {
        var request = ImageRequest("a.bmp", size: PixelSize(8, 8), processors: [BlankProcessor(), BlankProcessor()])
        request.tag = EndedLoad.tag
        return request
    }

    /// A loader whose response cache has the file, and the result where there is an encoder; its memory is empty.
    private func loading(_ encoder: (any ImageEncoding)?) async throws -> ImageLoading {
        let test = ImageLoading(cache: folder.cache(clock: { [clock] in clock.now() })) { configuration in
            configuration.resultEncoder = encoder
            configuration.decoders.append(decoder)
        }
        test.mock.on("a.bmp", ImageLoading.reply(ImageLoading.bitmap(64, 64), [.cacheControl: "max-age=60", .eTag: "\"1\""]))
        _ = try await test.images.image(request)
        await eventually(within: .seconds(60)) { test.images.unfinishedResults == 0 }
        test.images.removeAll()
        return test
    }

    private func call(_ test: ImageLoading, _ log: ImageLog) -> ImageCall {
        test.images.load(request)
            .onResponse { log.add("success \($0.source)") }
            .onFailure { log.add("failure \($0)") }
            .onPreview { _ in log.add("preview") }
            .onProgress { _ in log.add("progress") }
            .onEnd { outcome in if case .cancelled = outcome { log.add("cancelled") } else { log.add("end") } }
    }

    private func expectNothing(after ended: EndedLoad, _ test: ImageLoading, _ log: ImageLog) async {
        _ = await ended.load.operation.outcome()
        await test.session.agent.waitUntilIdle()
        await eventually(within: .seconds(60)) { test.images.activity.isIdle && test.images.waiterCount == 0 }
        #expect(ended.endings == 1 && log.all == ["cancelled"])
        #expect(test.images.memory.count == 0 && test.images.unfinishedResults == 0 && test.mock.exchanges.count == 1)
    }

    /// The load is held up where it looks for its file, until the test knows its number.
    @Test(arguments: [Step.pictureDecoding, .pictureProcessing, .pictureMade], ImageEnding.allCases)
    func nothingFollowsTheEndOfALoadFromTheResponseCache(step: Step, ending: ImageEnding) async throws {
        let (test, log) = (try await loading(nil), ImageLog())
        clock.hold()
        let ended = EndedLoad(call(test, log), by: ending, of: test.session)
        let visitor = ended.end(at: step)
        clock.release()
        await expectNothing(after: ended, test, log)
        StepDoor.remove(visitor)
        await test.end()
    }

    @Test(arguments: ResultMoment.allCases, ImageEnding.allCases)
    func nothingFollowsTheEndOfALoadOfAStoredResult(moment: ResultMoment, ending: ImageEnding) async throws {
        let (test, log) = (try await loading(BitmapEncoder()), ImageLog())
        let decodings = decoder.decodings
        clock.hold()
        let ended = EndedLoad(call(test, log), by: ending, of: test.session)
        switch moment {
        case .fileIsLookedFor: clock.act(afterCalls: 0) { ended.end() }
        case .resultIsLookedFor: clock.act(afterCalls: 1) { ended.end() }
        case .resultIsDecoded: decoder.act { ended.end() }
        }
        clock.release()
        await expectNothing(after: ended, test, log)
        // Once for the result; not for one that nobody waits for, and not for the file in its place.
        #expect(decoder.decodings - decodings == (moment == .resultIsDecoded ? 1 : 0))
        clock.act(nil)
        decoder.act(nil)
        await test.end()
    }

    /// A call for an actor waits for its turn there, and the load is over before it has come.
    @Test(arguments: [ImageEnding.cancel, .bag, .tag, .receipt, .agent]) @MainActor
    func nothingFollowsTheEndOfALoadFromMemory(ending: ImageEnding) async throws {
        let (test, log) = (try await loading(nil), ImageLog())
        _ = try await test.images.image(request)
        #expect(test.images.cached(request) != nil)
        let call = test.images.load(request)
            .onResponse { log.add("success \($0.source)") }
            .onFailure { log.add("failure \($0)") }
            .onEnd { outcome in if case .cancelled = outcome { log.add("cancelled") } else { log.add("end") } }
        let ended = EndedLoad(call, by: ending, of: test.session)
        ended.end()
        _ = await ended.load.operation.outcome()
        await test.session.agent.waitUntilIdle()
        #expect(log.all == ["cancelled"] && test.images.cached(request) != nil && test.images.waiterCount == 0)
        await test.end()
    }

    /// One that goes leaves the result to the others that wait for it.
    @Test(arguments: ResultMoment.allCases) func othersGetTheStoredResult(moment: ResultMoment) async throws {
        let (test, log) = (try await loading(BitmapEncoder()), ImageLog())
        clock.hold()
        let ended = EndedLoad(call(test, log), by: .cancel, of: test.session)
        switch moment {
        case .fileIsLookedFor: clock.act(afterCalls: 0) { ended.end() }
        case .resultIsLookedFor: clock.act(afterCalls: 1) { ended.end() }
        case .resultIsDecoded: decoder.act { ended.end() }
        }
        async let other = test.images.response(request)
        await eventually(within: .seconds(60)) { test.images.waiterCount == 2 }
        clock.release()
        let response = try await other
        #expect(response.source == .result && response.image.width == 8 && ended.endings == 1 && log.all == ["cancelled"])
        clock.act(nil)
        decoder.act(nil)
        await test.end()
    }
}

/// The clock of a response cache. A test holds it up, or has something done by the thread that asks it.
private final class ActingClock: Sendable {
    private struct State: Sendable {
        var calls = 0
        var act: (@Sendable () -> Void)?
    }

    private let isHeld = Lock(false)
    private let state = Lock(State())

    /// Holds up those that ask for the time.
    func hold() { isHeld.withLock { $0 = true } }
    func release() { isHeld.withLock { $0 = false } }

    /// Has something done by the thread that asks next, after so many others; nil takes it back.
    func act(afterCalls calls: Int = 0, _ act: (@Sendable () -> Void)?) {
        let old = state.withLock { state in
            defer { state = State(calls: calls, act: act) }
            return state
        }
        _ = old
    }

    func now() -> WallTime {
        while isHeld.withLock({ $0 }) { usleep(200) }
        let act = state.withLock { state -> (@Sendable () -> Void)? in
            state.calls -= 1
            return state.calls == -1 ? state.act : nil
        }
        act?()
        return .now
    }
}

/// Decodes bitmaps, and has something done before the next one.
private final class ActingDecoder: ImageDecoding {
    private struct State: Sendable {
        var count = 0
        var act: (@Sendable () -> Void)?
    }

    let formats: Set<ImageFormat> = [.bmp]
    private let state = Lock(State())

    var decodings: Int { state.withLock { $0.count } }

    func act(_ act: (@Sendable () -> Void)?) {
        let old = state.withLock { state in
            defer { state.act = act }
            return state.act
        }
        _ = old
    }

    func decode(_ data: Data, header: ImageHeader, options: ImageDecodingOptions) throws -> DecodedImage {
        let act = state.withLock { state in
            state.count += 1
            return state.act
        }
        act?()
        return try BMPDecoder().decode(data, header: header, options: options)
    }
}
#endif
