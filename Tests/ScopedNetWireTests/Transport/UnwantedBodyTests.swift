import CleanSlate
import Foundation
import HTTPTypes
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// The body of an error is read up to a mebibyte beyond what is kept, and then cut.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1)))
struct UnwantedBodyTests {
    /// Below libcurl 8 what came while an HTTP/2 stream was paused is handed over within the call that lets it go on.
    @Test func aBodyThatIsCutWhenItGoesOnIsNoLackOfResources() async throws {
        let authority = try TestAuthority()
        try await withWire(.tls(authority, [.http2])) {
            $0.tls.certificateAuthority = .pem(authority.certificatePEM)
        } _: { wire async throws in
            wire.server.on("/other", .ok())
            wire.server.on("/", ScriptedResponse(status: 500, body: .repeating(120, count: 4 << 20)).stalling(.afterHead))
            let recorder = EventRecorder()
            let request = wire.session.with { $0.observers = [recorder] }.request(wire.url + "/")
            let run = request.start()
            await recorder.wait { if case .headReceived = $0 { true } else { false } }
            run.suspend()
            // The pause is in force once a later transfer has ended.
            _ = try await wire.send("/other")
            wire.server.releaseStalls()
            try await wire.server.requests[0].waitForBodyBytesSent(3 << 20)
            run.resume()
            await wire.agent.waitUntilIdle()
            guard case .failure(let error) = request.result else { throw UnexpectedSuccess() }
            #expect(error.code == .unacceptableStatus, "\(error)")
            #expect(error.response?.status == 500)
        }
    }
}
