import Foundation
import Glibc
import Persistence
import ScopedNet

/// The host program has used up its descriptors: what needs one fails with a type, what has one goes on, and nothing spins.
enum NoDescriptorsScenario {
    static func play(on stage: Stage) async throws {
        let session = stage.session
        await stage.expectSuccess(of: stage.start("a first request", session.request(stage.url + "/quick")))
        var before = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &before)
        defer { setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &before) }
        for _ in 0..<stage.rounds(3, thorough: 100) {
            let underWay = stage.start("one under way", session.request(stage.url + "/short-drip"))
            let clocked = stage.start(
                "one with a clock", session.request(stage.url + "/stall").options { $0.timeouts.total = .milliseconds(800) })
            for run in [underWay, clocked] { await run.hasHead() }
            let held = exhaust()
            let spent = ProcessFigures.processorTime
            let began = ContinuousClock.now
            await requests(stage, session)
            await stage.expectFailure([.totalTimeout], of: clocked)
            stage.expect(clocked.duration.map { $0 < .milliseconds(1800) } ?? false, "\(clocked.name) ended late")
            await stage.expectSuccess(of: underWay)
            let (time, processor) = (began.duration(to: .now), ProcessFigures.processorTime - spent)
            stage.noteMost("processor time of \(Int(time / .milliseconds(1000)) + 1) s", processor)
            stage.expect(processor < time / 2 + .milliseconds(200), "without descriptors \(time) took \(processor) of processor time")
            for descriptor in held { close(descriptor) }
            for _ in 0..<3 { await stage.expectSuccess(of: stage.start("with descriptors again", session.request(stage.url + "/quick"))) }
        }
    }

    private static func requests(_ stage: Stage, _ session: Session) async {
        let typed: Set<NetworkError.Code> = [.resources, .connectionFailed]
        var runs: [TrackedRun] = []
        // More than there are connections in the pool.
        for _ in 0..<12 { runs.append(stage.start("one that needs a connection", session.request(stage.url + "/quick"))) }
        var refused = 0
        for run in runs {
            guard let reason = await stage.end(of: run) else { continue }
            if let error = reason.error {
                refused += 1
                stage.expect(typed.contains(error.code), "\(run.name): \(error)")
            }
        }
        stage.note("refused", refused)
        let file = URL(fileURLWithPath: stage.path("file"))
        await stage.expectFailure(
            [.fileUnwritable, .resources], of: stage.start("a download", session.download(stage.url + "/small", to: file)))
        let named = session.request(stage.url.replacing("127.0.0.1", with: "localhost") + "/quick")
        await stage.expectFailure([.resources, .nameNotResolved, .connectionFailed], of: stage.start("one to a name", named))
        // A network thread of its own cannot be had.
        var configuration = Session.Configuration(agent: session.agent)
        configuration.proxy = .none
        configuration.limits.total = 7
        let apart = Session(configuration: configuration)
        await stage.expectFailure([.resources], of: stage.start("one of another pool", apart.request(stage.url + "/quick")))
        let cache = ResponseCache(StoreConfiguration(directory: stage.path("cache")))
        let cached = stage.session { $0.cache = cache }
        let request = cached.request(stage.url + "/cacheable/1")
        let reason = await stage.end(of: stage.start("one with a cache", request))
        if let error = reason?.error { stage.expect(typed.contains(error.code), "with a cache: \(error)") }
    }

    /// Takes every descriptor there is up to a limit of its own.
    private static func exhaust() -> [Int32] {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = rlim_t(ProcessFigures.highestDescriptor + 4)
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        var held: [Int32] = []
        while true {
            let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { return held }
            held.append(descriptor)
        }
    }
}
