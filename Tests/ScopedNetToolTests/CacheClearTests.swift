import CleanSlate
import Foundation
import Persistence
import ScopedNet
import TestProcesses
import Testing

@testable import ScopedNetTool

/// `scopednet cache clear` on stores that it cannot read, and on stores with more than one page of names.
@Suite(.leavesNothing, .serialized) struct CacheClearTests {
    private let name = "com.example.test"

    /// Nobody's idea of a cipher, and enough for the tool, which never opens what it has sealed.
    private struct FlipSealing: StoreSealing {
        let key: UInt8
        var overhead: Int { 0 }
        func seal(_ text: Data, context: Data) throws(StoreError) -> Data { Data(text.map { $0 ^ key }) }
        func open(_ sealed: Data, context: Data) throws(StoreError) -> Data { Data(sealed.map { $0 ^ key }) }
        func hash(_ text: Data) -> Data {
            var sum: UInt64 = 14_695_981_039_346_656_037 ^ UInt64(key)
            for byte in text { sum = (sum ^ UInt64(byte)) &* 1_099_511_628_211 }
            let bytes = withUnsafeBytes(of: sum) { Data($0) }
            return bytes + bytes.reversed()
        }
    }

    private func run(_ folder: Folder, _ arguments: String...) async throws -> ProgramResult {
        try await ProgramRun([toolPath, "cache"] + arguments, environment: ["XDG_CACHE_HOME": folder.url.path]).result()
    }

    /// As a program with such a store leaves it.
    private func fill(
        _ folder: Folder, sealing: (any StoreSealing)? = nil, _ responses: [(url: String, partition: String, bytes: Int)]
    ) async throws {
        var configuration = StoreConfiguration(directory: folder.path(name))
        configuration.sealing = sealing
        let cache = ResponseCache(configuration)
        let session = Session(configuration: Session.Configuration())
        for response in responses {
            let request = session.request(response.url).options { $0.cache.partition = response.partition }
            let body = Data(repeating: 7, count: response.bytes)
            let isStored = await cache.store(body, headers: [.cacheControl: "max-age=600"], for: request)
            try #require(isStored)
        }
        try await cache.flush()
        await cache.store.close()
    }

    private func bodies(_ folder: Folder) -> [String] {
        FileManager.default.enumerator(atPath: folder.path("\(name)/bodies-1"))?.map { "\($0)" }.filter { $0.count > 2 } ?? []
    }

    @Test func ofAnEncryptedStoreAllCanBeRemovedAndNothingElse() async throws {
        let folder = try Folder()
        let url = "http://example.test/a"
        try await fill(folder, sealing: FlipSealing(key: 7), [(url, "", 5), (url + "b", "anna", 5), (url + "c", "", 200_000)])
        #expect(bodies(folder).count == 1)
        for narrowed in [["--url", url], ["--partition", "anna"]] {
            let refused = try await ProgramRun(
                [toolPath, "cache", "clear"] + narrowed + [name], environment: ["XDG_CACHE_HOME": folder.url.path]
            ).result()
            #expect(refused.status == 64 && refused.errors.contains("encrypted"), "\(refused)")
        }
        let stats = try await run(folder, "stats", "--json", name)
        #expect(stats.output.contains("\"responses\":3"), "\(stats)")
        let cleared = try await run(folder, "clear", name)
        #expect(cleared.status == 0 && cleared.output.hasPrefix("removed 3 responses, "), "\(cleared)")
        #expect(bodies(folder).isEmpty)
        // Its program finds it empty, and goes on.
        var configuration = StoreConfiguration(directory: folder.path(name))
        configuration.sealing = FlipSealing(key: 7)
        let cache = ResponseCache(configuration)
        let condition = await cache.store.opened()
        let left = try await cache.store.list()
        #expect(condition == .open && left.isEmpty)
        await cache.store.close()
    }

    /// Several pages of names, several batches of the writer, bodies in rows and in files.
    @Test func ofALargeStoreGoesWhatWasAskedForAndNothingElse() async throws {
        let folder = try Folder()
        let responses = (0..<2_400).map { index in
            (url: "http://example.test/\(index)", partition: index % 2 == 0 ? "" : "anna", bytes: index % 100 < 2 ? 150_000 : 100)
        }
        try await fill(folder, responses)
        #expect(bodies(folder).count == 48)
        let one = try await run(folder, "clear", "--url", "http://example.test/2399", name)
        #expect(one.status == 0 && one.output.hasPrefix("removed 1 response, "), "\(one)")
        let none = try await run(folder, "clear", "--url", "http://example.test/2399", name)
        #expect(none.status == 0 && none.output.hasPrefix("removed 0 responses, "), "\(none)")
        let partition = try await run(folder, "clear", "--partition", "anna", name)
        #expect(partition.output.hasPrefix("removed 1,199 responses, "), "\(partition)")
        #expect(bodies(folder).count == 24)
        let verified = try await run(folder, "verify", name)
        #expect(verified.status == 0 && verified.output.hasPrefix("1,200 responses, "), "\(verified)")
        let all = try await run(folder, "clear", "--json", name)
        #expect(all.status == 0 && all.output.contains("\"entries\":1200"), "\(all)")
        #expect(bodies(folder).isEmpty)
        let after = try await run(folder, "verify", name)
        #expect(after.status == 0 && after.output.hasPrefix("0 responses, "), "\(after)")
    }
}
