import CleanSlate
import Testing

@testable import ScopedNet

/// RFC 9211 section 2.
@Suite(.leavesNothing) struct CacheStatusTests {
    @Test(
        arguments: [
            (ResponseCache.Status(), "ScopedNet"), (ResponseCache.Status(isHit: true), "ScopedNet; hit"),
            (ResponseCache.Status(isHit: true, timeToLive: -412), "ScopedNet; hit; ttl=-412"),
            (ResponseCache.Status(forward: .uriMiss, isStored: true, isCollapsed: true), "ScopedNet; fwd=uri-miss; stored; collapsed"),
            (ResponseCache.Status(forward: .stale, forwardStatus: 304), "ScopedNet; fwd=stale; fwd-status=304"),
            (ResponseCache.Status(forward: .varyMiss), "ScopedNet; fwd=vary-miss"),
            (ResponseCache.Status(forward: .method), "ScopedNet; fwd=method"),
            (ResponseCache.Status(forward: .bypass), "ScopedNet; fwd=bypass"),
            (ResponseCache.Status(forward: .partial), "ScopedNet; fwd=partial"),
            (ResponseCache.Status(forward: .request), "ScopedNet; fwd=request"),
            (ResponseCache.Status(forward: .miss), "ScopedNet; fwd=miss"),
            (ResponseCache.Status(key: "a\"b\\c", detail: "é\n"), "ScopedNet; key=\"a\\\"b\\\\c\"; detail=\"%C3%A9%0A\""),
        ] as [(ResponseCache.Status, String)])
    func theTextIsAMemberOfTheField(_ status: ResponseCache.Status, _ text: String) {
        #expect(status.description == text)
    }
}
