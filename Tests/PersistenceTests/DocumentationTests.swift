import CleanSlate
import Foundation
import Glibc
import Persistence
import Testing

/// The samples of the README and the DocC article, word for word, and that they are.
@Suite(.leavesNothing, .serialized) struct DocumentationTests {
    // sample
    func useAStore() async throws {
        let store = Store(StoreConfiguration(directory: try StoreConfiguration.cacheDirectory("example")))
        let key = EntryKey("https://example.test/posts", partition: "alice")

        let found = await store.lookup(key)
        if found.entries.isEmpty {
            // Fetched here. The ticket keeps it out when somebody removes the key meanwhile.
            store.put(NewStoreEntry(key: key, metadata: Data("etag 1".utf8), body: .data(Data("[]".utf8))), ticket: found.ticket)
        }
        await store.close()
    }

    // sample
    func keepALargeBody(_ store: Store, chunks: [Data]) async throws {
        let writer = store.makeBodyWriter()
        for chunk in chunks { try writer.write(chunk) }
        try await store.putAndFlush(NewStoreEntry(key: EntryKey("film"), metadata: Data(), body: writer.finish()))

        guard let entry = await store.lookup(EntryKey("film")).entries.first else { return }
        let reader = try entry.body.makeReader()
        let part = try reader.read(at: 1_000_000, upTo: BodyReader.preferredReadSize)
        print(part.count)
    }

    @Test func theSamplesAreThoseOfTheDocuments() throws {
        let here = URL(filePath: #filePath)
        let source = try String(contentsOf: here, encoding: .utf8)
        let root = here.deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        var samples = 0
        for path in ["README.md", "Sources/Persistence/Persistence.docc/Persistence.md"] {
            // In a larger package its README is about something else.
            guard let text = try? String(contentsOf: root.appending(path: path), encoding: .utf8),
                text.hasPrefix("# Persistence") || text.hasPrefix("# ``Persistence``")
            else { continue }
            for block in text.components(separatedBy: "```swift\n").dropFirst() {
                let sample = block.components(separatedBy: "```")[0]
                let indented = sample.split(separator: "\n", omittingEmptySubsequences: false).map { $0.isEmpty ? "" : "    " + $0 }.joined(
                    separator: "\n")
                #expect(source.contains(indented), "\(path): \(sample)")
                samples += 1
            }
        }
        #expect(samples > 0)
    }

    /// In a process of its own, whose environment nobody else reads.
    @Test func theSamplesRun() async {
        await #expect(processExitsWith: .success) {
            let folder = TestFolder()
            setenv("XDG_CACHE_HOME", folder.path, 1)
            guard try StoreConfiguration.cacheDirectory("example") == folder.path + "/example" else { exit(2) }
            let samples = DocumentationTests()
            try await samples.useAStore()
            let store = Store(StoreConfiguration(directory: try StoreConfiguration.cacheDirectory("example")))
            let found = await store.lookup(EntryKey("https://example.test/posts", partition: "alice"))
            guard found.entries.map(\.metadata) == [Data("etag 1".utf8)] else { exit(3) }
            try await samples.keepALargeBody(store, chunks: [Data(count: 700_000), Data(count: 700_000)])
            await store.close()
        }
    }
}
