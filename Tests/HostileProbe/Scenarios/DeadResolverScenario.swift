import Foundation
import Glibc
import ScopedNet

/// A name server that takes questions and never answers, for this process alone: resolv.conf(5) is replaced in its mount namespace.
enum DeadResolverScenario {
    static func play(on stage: Stage) async throws {
        let server = try SilentNameServer()
        defer { server.close() }
        let file = stage.path("resolv.conf")
        let text = "nameserver \(server.address)\noptions timeout:\(stage.isThorough ? 5 : 1) attempts:2\n"
        try Data(text.utf8).write(to: URL(fileURLWithPath: file))
        guard mount(file, "/etc/resolv.conf", nil, UInt(MS_BIND), nil) == 0 else { throw Trouble("mount /etc/resolv.conf") }
        let session = stage.session { $0.limits.total = 32 }
        await stage.expectSuccess(of: stage.start("a request to an address", session.request(stage.url + "/quick")))
        // A thread of libcurl's has the name of the one that made it.
        let networkThreads = ProcessFigures.threads(named: "scopednet")
        for round in 0..<stage.rounds(1, thorough: 6) {
            let clock = Duration.milliseconds(700)
            var clocked: [TrackedRun] = []
            for number in 0..<8 {
                let request = session.request("http://clocked-\(round)-\(number).scopednet.test/").options {
                    if number.isMultiple(of: 2) { $0.timeouts.connect = clock } else { $0.timeouts.total = clock }
                }
                clocked.append(stage.start("a request to a name", request))
            }
            var cancelled: [TrackedRun] = []
            let bag = DeallocBag(label: "names")
            for number in 0..<8 {
                let request = session.request("http://cancelled-\(round)-\(number).scopednet.test/")
                cancelled.append(stage.start("a cancelled request to a name", request, in: bag))
            }
            // So that the questions are on their way.
            try await server.waitForQuestion()
            stage.note("resolver threads", max(0, ProcessFigures.threads(named: "scopednet") - networkThreads))
            let asked = ContinuousClock.now
            bag.end()
            for run in cancelled {
                stage.expect(
                    await stage.end(of: run)?.isCancelled == true, "\(run.name) was not cancelled: \(String(describing: run.reason))")
            }
            stage.noteMost("cancel", asked.duration(to: .now))
            stage.expect(asked.duration(to: .now) < .seconds(1), "a cancel waited for a name server")
            for run in clocked {
                await stage.expectFailure([.connectTimeout, .totalTimeout], of: run)
                let excess = (run.duration ?? .zero) - clock
                stage.noteMost("clock of a name", excess)
                stage.expect(excess < .seconds(1), "\(run.name): its clock of \(clock) ran out after \(clock + excess)")
            }
            try await storm(round, session, beside: networkThreads, on: stage)
            // Without a clock of its own, the resolver's end is its end.
            let patient = stage.start("a patient request to a name", session.request("http://patient-\(round).scopednet.test/"))
            await stage.expectFailure([.nameNotResolved, .connectTimeout], of: patient, within: .seconds(40))
        }
    }
}

extension DeadResolverScenario {
    /// Requests that come and are cancelled, far more than the session may have in flight. A thread that is in getaddrinfo(3)
    /// cannot be called back, so there would be one more with each.
    private static func storm(_ round: Int, _ session: Session, beside networkThreads: Int, on stage: Stage) async throws {
        let limit = session.configuration.limits.total
        var most = 0
        func look() {
            most = max(most, ProcessFigures.threads(named: "scopednet") - networkThreads)
        }
        for wave in 0..<stage.rounds(8, thorough: 40) {
            let bag = DeallocBag(label: "storm")
            // Each is sent once, whatever its handle was used for before: a second time the server says 409.
            func once(_ place: String) -> Request<Data> {
                session.with { $0.agent = RequestAgent() }.request(stage.url + "/once?\(place)-\(round)-\(wave)")
            }
            await stage.expectSuccess(of: stage.start("a request to an address", once("before")))
            let began = ContinuousClock.now
            var runs: [TrackedRun] = []
            for number in 1..<limit {
                // Different names and the same one, whose lookups have a limit of their own.
                let name = number.isMultiple(of: 4) ? "storm-\(round)" : "storm-\(round)-\(wave)-\(number)"
                runs.append(stage.start("a cancelled request of a storm", session.request("http://\(name).scopednet.test/"), in: bag))
            }
            // All of them have reached the network thread when one behind them has been there and back.
            await stage.expectSuccess(of: stage.start("a request to an address", once("behind")))
            look()
            stage.noteMost("a request to an address in a storm", began.duration(to: .now))
            stage.expect(began.duration(to: .now) < .seconds(1), "a request to an address waited for names")
            bag.end()
            for run in runs {
                stage.expect(
                    await stage.end(of: run)?.isCancelled == true, "\(run.name) was not cancelled: \(String(describing: run.reason))")
            }
            look()
        }
        stage.note("resolver threads in a storm", most)
        stage.expect(most <= limit, "\(most) threads look names up, where \(limit) requests may be in flight")
        stage.expect(most > limit / 2, "no storm: \(most) threads")
        // Behind it all, a request waits for its lookup no longer than its clock.
        let clock = Duration.milliseconds(500)
        let late = stage.start(
            "a request behind a storm",
            session.request("http://late-\(round).scopednet.test/").options { $0.timeouts.connect = clock })
        await stage.expectFailure([.connectTimeout], of: late)
        stage.noteMost("clock behind a storm", (late.duration ?? .zero) - clock)
        stage.expect(
            (late.duration ?? .zero) < clock + .milliseconds(400), "\(late.name): its clock ran out after \(late.duration ?? .zero)")
    }
}

/// A UDP socket on a loopback address of its own, port 53, whose owner hears everything and says nothing.
private struct SilentNameServer {
    let address: String
    private let descriptor: Int32

    init() throws {
        let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(53).bigEndian
        var code: Int32 = -1
        var name = ""
        for _ in 0..<20 where code != 0 {
            name = "127.\(Int.random(in: 64..<255)).\(Int.random(in: 1..<255)).\(Int.random(in: 1..<255))"
            address.sin_addr.s_addr = inet_addr(name)
            code = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
        }
        (self.address, self.descriptor) = (name, descriptor)
        guard code == 0 else { throw Trouble("bind \(name):53") }
    }

    func waitForQuestion() async throws {
        let descriptor = descriptor
        let came = await Stage.onThread { () -> Bool in
            var wait = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            return poll(&wait, 1, 10_000) == 1
        }
        guard came else { throw Trouble("no question for the name server", ETIMEDOUT) }
        var rest = [UInt8](repeating: 0, count: 4096)
        while recv(descriptor, &rest, rest.count, Int32(MSG_DONTWAIT)) > 0 {}
    }

    func close() { Glibc.close(descriptor) }
}
