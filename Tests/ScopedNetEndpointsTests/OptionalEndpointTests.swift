import CleanSlate
import FoundationEssentials
import ScopedNet
import ScopedNetEndpoints
import ScopedNetTesting
import Testing

/// Endpoints whose value may be missing: bytes and text are the body as it is, and an empty body is nil.
@Suite(.leavesNothing, .timeLimit(.minutes(3))) struct OptionalEndpointTests {
    private struct Letter: Endpoint {
        typealias Value = String?
        let path: String
    }

    private struct Picture: Endpoint {
        typealias Value = Data?
        let path: String
    }

    private struct Server: APIService {
        typealias Failure = NetworkError
        var baseURL: String { "http://api.test/v1" }
    }

    @Test func theBodyIsTheValueAndAnEmptyOneIsNil() async throws {
        let session = MockTransport.session()
        session.mock.on("/v1/letter", .json(#""Dear Ann""#))
        session.mock.on("/v1/none", .status(204))
        let client = APIClient(Server(), session: session)
        let (letter, picture) = (try await client.send(Letter(path: "letter")), try await client.send(Picture(path: "letter")))
        #expect(letter == #""Dear Ann""# && picture == Data(#""Dear Ann""#.utf8))
        let (noLetter, noPicture) = (try await client.send(Letter(path: "none")), try await client.send(Picture(path: "none")))
        #expect(noLetter == nil && noPicture == nil)
    }
}
