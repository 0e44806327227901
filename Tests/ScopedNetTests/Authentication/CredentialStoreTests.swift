import CleanSlate
import Foundation
import Persistence
import Testing

@testable import ScopedNet

@Suite(.leavesNothing) struct CredentialStoreTests {
    private let ann = Credential.basic(user: "ann", password: "secret")

    private func space(_ realm: String?, isProxy: Bool = false) throws -> ProtectionSpace {
        try ProtectionSpace("https://example.com/any?thing", realm: realm, isProxy: isProxy)
    }

    @Test func aRealmGoesBeforeTheWholeOrigin() throws {
        let store = CredentialStore()
        store.set(ann, for: try space(nil))
        store.set(.bearer("t"), for: try space("api"))
        #expect(store.credential(for: try space("api")) == .bearer("t"))
        #expect(store.credential(for: try space("other")) == ann)
        #expect(store.credential(for: try space("api", isProxy: true)) == nil)
        #expect(store.credential(for: try ProtectionSpace("http://example.com", realm: "api")) == nil)
        #expect(store.credential(for: try ProtectionSpace("https://example.com:8443", realm: "api")) == nil)
        #expect(Set(store.spaces) == [try space(nil), try space("api")])
        store.remove(try space("api"))
        #expect(store.credential(for: try space("api")) == ann)
        store.removeAll()
        #expect(store.spaces.isEmpty)
    }

    @Test func whatIsNoURLIsNoSpace() {
        let error = #expect(throws: NetworkError.self) { try ProtectionSpace("example.com:443") }
        #expect(error?.code == .unsupportedScheme || error?.code == .invalidURL)
    }

    /// In files that nobody else can read.
    @Test func whatIsKeptOutlivesTheStore() async throws {
        let folder = TemporaryFolder()
        let configuration = StoreConfiguration(directory: folder.path + "/state")
        func open(_ partition: String = "") async -> (Store, CredentialStore) {
            let store = Store(configuration)
            return (store, await CredentialStore(store, partition: partition))
        }
        let (first, kept) = await open()
        kept.set(ann, for: try space("a \u{1} realm"))
        kept.set(.bearer("t"), for: try space(nil))
        kept.set(ann, for: try space("gone", isProxy: true))
        kept.remove(try space("gone", isProxy: true))
        try await kept.flush()
        let other = await CredentialStore(first, partition: "other")
        #expect(other.spaces.isEmpty)
        await first.close()

        let files = FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String } ?? []
        for file in files {
            let attributes = try FileManager.default.attributesOfItem(atPath: folder.path + "/" + file)
            let mode = try #require(attributes[.posixPermissions] as? Int)
            #expect(mode & 0o077 == 0 || folder.path + "/" + file == folder.path, "\(file) has \(String(mode, radix: 8))")
        }
        #expect(!files.isEmpty)

        let (second, again) = await open()
        #expect(again.credential(for: try space("a \u{1} realm")) == ann)
        #expect(again.credential(for: try space("other")) == .bearer("t"))
        #expect(again.spaces.count == 2)
        again.removeAll()
        try await again.flush()
        await second.close()
        let (third, empty) = await open()
        #expect(empty.spaces.isEmpty)
        await third.close()
    }

    @Test func withoutADiskTheMemoryWorks() async throws {
        let store = Store(StoreConfiguration(directory: "/proc/nowhere"))
        let credentials = await CredentialStore(store)
        credentials.set(ann, for: try space("a"))
        #expect(credentials.credential(for: try space("a")) == ann)
        await #expect(throws: StoreError.self) { try await credentials.flush() }
        await store.close()
    }
}
