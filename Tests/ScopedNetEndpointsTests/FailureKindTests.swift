import CleanSlate
import ScopedNet
import ScopedNetEndpoints
import ScopedNetTesting
import Testing

/// Kinds of failure, with texts of the program's (CT-4, CT-8, defect 57).
@Suite(.leavesNothing, .noLeaks, .timeLimit(.minutes(3))) struct FailureKindTests {
    private struct Server: APIService {
        var baseURL: String { "http://api.test/" }
    }

    private struct Get: Endpoint {
        typealias Value = [Int]
        let path = "a"
    }

    private func kind(_ reply: MockReply) async -> FailureKind? {
        let client = APIClient(Server(), session: MockTransport.session("http://api.test/"))
        client.session.mock.on("a", reply)
        defer { Task { await client.session.shutdown() } }
        do throws(NetworkError) {
            _ = try await client.send(Get())
            return nil
        } catch { return FailureKind(error) }
    }

    @Test func eachErrorHasItsKind() async {
        for (reply, expected) in [
            (MockReply.status(400), FailureKind.invalidParameters), (.status(401), .loginNeeded), (.status(403), .forbidden),
            (.status(404), .notFound), (.status(410), .notFound), (.status(422), .invalidParameters), (.status(429), .downgraded),
            (.status(503), .downgraded), (.status(500), .other), (.ok("no JSON"), .other), (.ok(""), .noContent),
            (.failing(.connectionRefused), .unreachable), (.failing(.nameNotResolved), .offline), (.failing(.idleTimeout), .timeout),
            (.failing(.authenticationFailed), .tokenNeeded), (.failing(.tlsFailed), .other),
        ] {
            #expect(await kind(reply) == expected)
        }
        // CT: an error that nobody had named was "need token". Here a success has no kind, and what is not known is one of its own.
        #expect(await kind(.ok("[1]")) == nil)
        #expect(FailureKind(.cancelled(.explicit)) == .cancelled)
    }

    @Test func textsAreTheProgramsOwn() {
        let texts: [FailureKind: String] = [.cancelled: "Abgebrochen."]
        #expect(texts[FailureKind(.cancelled(.ownerReleased))] == "Abgebrochen." && texts[.other] == nil)
        #expect(FailureKind.allCases.count == Set(FailureKind.allCases.map(\.rawValue)).count)
    }
}
