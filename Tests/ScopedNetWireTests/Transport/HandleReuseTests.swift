import CleanSlate
import Foundation
import HTTPTypes
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// Easy handles are used again and again with what was set on them; nothing of one request may show in the next.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1)))
struct HandleReuseTests {
    private enum Kind: CaseIterable {
        case get, head, delete, emptyPost, post, put, chunked, ownFields, http1, download, failing

        var method: HTTPRequest.Method {
            switch self {
            case .head: .head
            case .delete: .delete
            case .emptyPost, .post, .chunked: .post
            case .put: .put
            case .get, .ownFields, .http1, .download, .failing: .get
            }
        }

        var body: RequestBody? {
            switch self {
            case .post: .data(Data("twelve bytes".utf8))
            // Too long to travel with its head.
            case .put: .data(bytes(200_000))
            case .chunked:
                .stream(
                    AsyncStream {
                        $0.yield(Data("piece".utf8)); $0.finish()
                    })
            default: nil
            }
        }

        var fields: HTTPFields { self == .ownFields ? [.contentType: "text/plain", .userAgent: "mine"] : [:] }
    }

    /// What the server saw.
    private struct Sight: Equatable {
        let method: String
        let target: String
        let version: String
        let fields: HeaderList
        let body: [UInt8]
    }

    private func send(_ kind: Kind, _ session: Session, _ wire: Wire, _ folder: TemporaryFolder) async throws -> Sight {
        if kind == .download {
            _ = try await session.download(wire.url + "/body", to: URL(filePath: folder.path + "/file")).value()
        } else {
            let request = session.request(
                wire.url + (kind == .failing ? "/fails" : "/body"), method: kind.method, headers: HeaderFields(kind.fields), body: kind.body
            )
            _ = request.options { $0.httpVersion = kind == .http1 ? .http1 : .automatic }
            let outcome = await request.outcome()
            if kind != .failing { #expect(try outcome.get().body.count == (kind == .head ? 0 : 5)) }
        }
        let seen = try await wire.server.takeRequest()
        return Sight(method: seen.method, target: seen.target, version: seen.httpVersion, fields: seen.headers, body: seen.body)
    }

    @Test func nothingOfOneRequestShowsInTheNext() async throws {
        try await withWire { wire async throws in
            let folder = TemporaryFolder()
            wire.server.on("/body", .ok("hello"))
            wire.server.on("/fails", .raw("garbage\r\n\r\n"))
            var alone: [Kind: Sight] = [:]
            for kind in Kind.allCases {
                let fresh = Session(configuration: wire.session.configuration)
                alone[kind] = try await send(kind, fresh, wire, folder)
                await fresh.agent.waitUntilIdle()
                await fresh.shutdown(cancelling: false)
            }
            for first in Kind.allCases {
                for second in Kind.allCases {
                    let before = try await send(first, wire.session, wire, folder)
                    let after = try await send(second, wire.session, wire, folder)
                    #expect(before == alone[first])
                    #expect(after == alone[second], "\(second) after \(first)")
                }
            }
        }
    }
}
