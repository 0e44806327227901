import CleanSlate
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// Where a `Location` leads (RFC 9110 section 10.2.2), as far as other clients lead elsewhere: see `docs/differential.md`.
@Suite(.leavesNothing, .timeLimit(.minutes(1))) struct LocationTests {
    private func withLocations(_ locations: [String], _ test: (Wire) async throws -> Void) async throws {
        try await withWire { wire async throws in
            wire.server.on("/a/b", locations.reduce(.status(302)) { $0.header("Location", $1) })
            wire.server.on("/a/c,d", .ok("arrived"))
            try await test(wire)
            try await wire.server.waitForClientsToLeave()
        }
    }

    @Test func twoPlacesAtOnceAreNone() async throws {
        try await withLocations(["/a/c,d", "/a/e"]) { wire async throws in
            let error = try await wire.get("/a/b").failure()
            #expect(error.code == .badResponse)
            #expect(wire.server.requests.count == 1)
        }
    }

    @Test(arguments: [["c,d"], ["/a/c,d", "/a/c,d"]]) func onePlaceIsOneHoweverOftenItIsNamed(locations: [String]) async throws {
        try await withLocations(locations) { wire async throws in
            let text = String(decoding: try await wire.get("/a/b").value(), as: UTF8.self)
            #expect(text == "arrived")
        }
    }

    /// RFC 3986 section 5.4.1; libcurl loses the last segment.
    @Test func aFragmentAloneLeadsNowhereElse() async throws {
        try await withLocations(["#part"]) { wire async throws in
            let error = try await wire.get("/a/b?c").failure()
            #expect(error.code == .redirectLoop)
            #expect(wire.server.requests.map(\.target) == ["/a/b?c"])
        }
    }

    @Test(arguments: ["file:///etc/passwd", "data:,x", "javascript:alert(1)", "ftp://127.0.0.1/x", "mailto:a@b"])
    func otherSchemesAreRefusedAsSuch(location: String) async throws {
        try await withLocations([location]) { wire async throws in
            let error = try await wire.get("/a/b").failure()
            #expect(error.code == .redirectRefused)
        }
    }

    @Test(arguments: ["http:///a/c,d", "http:/a/c,d", "http:a"]) func aURLWithoutAHostLeadsNowhere(location: String) async throws {
        try await withLocations([location]) { wire async throws in
            let error = try await wire.get("/a/b").failure()
            #expect(error.code == .badResponse)
            #expect(wire.server.requests.count == 1)
        }
    }
}
