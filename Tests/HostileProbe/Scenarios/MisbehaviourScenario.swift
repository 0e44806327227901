import Foundation
import Glibc
import ScopedNet

/// Everything that the probe has to notice: a descriptor left open, a run whose end is told twice, one without a type, one without an end.
enum MisbehaviourScenario {
    static func play(on stage: Stage) async throws {
        _ = open("/dev/zero", O_RDONLY | O_CLOEXEC)
        let run = stage.start(
            "a run that fails", stage.session.request(stage.url + "/never").options { $0.timeouts.total = .milliseconds(50) })
        await stage.expectSuccess(of: run)
        let endless = stage.start("a run without an end", stage.session.request(stage.url + "/never"))
        await stage.end(of: endless, within: .milliseconds(50))
        run.count(.succeeded)
        endless.cancel()
        await stage.end(of: endless)
    }
}
