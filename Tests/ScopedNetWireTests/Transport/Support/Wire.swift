import Foundation
import HTTPTypes
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// A session, an agent of its own, and a server for it: what most wire tests need.
struct Wire: Sendable {
    let server: LoopbackServer
    let session: Session
    let agent: RequestAgent

    var url: String { server.url }

    func get(_ path: String = "/", _ change: (inout RequestOptions) -> Void = { _ in }) -> Request<Data> {
        session.request(url + path).options(change)
    }

    func send(_ path: String = "/", method: String = "GET", body: RequestBody? = nil) async throws(NetworkError) -> Response<Data> {
        try await session.request(url + path, method: .init(rawValue: method)!, body: body).response()
    }
}

/// Runs a test against a server and a session, and takes the census at its end: no run, no slot, no connection is left.
func withWire(
    _ server: LoopbackServer.Configuration = .init(), configure: (inout Session.Configuration) throws -> Void = { _ in },
    _ test: (Wire) async throws -> Void
) async throws {
    try await withLoopbackServer(server) { server in
        try await withSession(configure) { session in
            try await test(Wire(server: server, session: session, agent: session.agent))
        }
        try await server.waitForOpenConnections { $0 == 0 }
    }
}

func withLoopbackServer(
    _ configuration: LoopbackServer.Configuration = .init(), _ test: (LoopbackServer) async throws -> Void
) async throws {
    let server = LoopbackServer(configuration)
    try await server.start()
    do {
        try await test(server)
    } catch {
        await server.stop()
        throw error
    }
    await server.stop()
    #expect(server.openConnections == 0)
    #expect(server.concurrentRequests == 0)
}

func withLoopbackProxy(
    _ configuration: LoopbackProxy.Configuration = .init(), _ test: (LoopbackProxy) async throws -> Void
) async throws {
    let proxy = LoopbackProxy(configuration)
    try await proxy.start()
    do {
        try await test(proxy)
    } catch {
        await proxy.stop()
        throw error
    }
    await proxy.stop()
    #expect(proxy.openConnections == 0)
}

extension LoopbackServer.Configuration {
    static func tls(_ authority: TestAuthority, _ protocols: [HTTPProtocol] = [.http1]) throws -> Self {
        .init(tls: try authority.makeServerIdentity(), protocols: protocols)
    }
}
