import CleanSlate
import Testing

@testable import ScopedNet

/// RFC 9211 section 2.
@Suite(.leavesNothing) struct CacheStatusTests {
    @Test(
        arguments: [
            (CacheStatus(), "ScopedNet"), (CacheStatus(isHit: true), "ScopedNet; hit"),
            (CacheStatus(isHit: true, timeToLive: -412), "ScopedNet; hit; ttl=-412"),
            (CacheStatus(forward: .uriMiss, isStored: true, isCollapsed: true), "ScopedNet; fwd=uri-miss; stored; collapsed"),
            (CacheStatus(forward: .stale, forwardStatus: 304), "ScopedNet; fwd=stale; fwd-status=304"),
            (CacheStatus(forward: .varyMiss), "ScopedNet; fwd=vary-miss"), (CacheStatus(forward: .method), "ScopedNet; fwd=method"),
            (CacheStatus(forward: .bypass), "ScopedNet; fwd=bypass"), (CacheStatus(forward: .partial), "ScopedNet; fwd=partial"),
            (CacheStatus(forward: .request), "ScopedNet; fwd=request"), (CacheStatus(forward: .miss), "ScopedNet; fwd=miss"),
            (CacheStatus(key: "a\"b\\c", detail: "é\n"), "ScopedNet; key=\"a\\\"b\\\\c\"; detail=\"%C3%A9%0A\""),
        ] as [(CacheStatus, String)])
    func theTextIsAMemberOfTheField(_ status: CacheStatus, _ text: String) {
        #expect(status.description == text)
    }
}
