import CleanSlate
import Foundation
import Glibc
import Persistence
import Testing

/// The memory of bodies that are read from their files.
@Suite(.leavesNothing, .timeLimit(.minutes(3))) struct BodyMemoryTests {
    private static let isMemoryPlain = dlsym(nil, "__tsan_init") == nil && dlsym(nil, "__asan_init") == nil

    /// Foundation tells a deallocator the length that the data have at the end, and not the one they had. In a process of its own, as its address space is
    /// looked at.
    @Test(.enabled(if: isMemoryPlain, "a sanitizer has pages of its own")) func aBodyThatIsCutInPlaceGivesBackAllOfItsMemory() async {
        await #expect(processExitsWith: .success) {
            let folder = TestFolder()
            let store = Store(StoreConfiguration(directory: folder.path))
            let writer = store.makeBodyWriter()
            try writer.write(Data(count: 8 << 20))
            try await store.putAndFlush(NewStoreEntry(key: EntryKey("film"), metadata: Data(), body: writer.finish()))
            guard let entry = await store.lookup(EntryKey("film")).entries.first else { exit(2) }
            func cut() throws {
                var data = try entry.body.makeReader().read(at: 0, upTo: 8 << 20)
                guard data.count == 8 << 20 else { exit(3) }
                data.removeSubrange(0..<data.count - 4_096)
            }
            try cut()
            let before = Self.mappedPages()
            for _ in 0..<20 { try cut() }
            let grown = Self.mappedPages() - before
            await store.close()
            // Twenty that stay are 40,960 pages.
            exit(grown < 10_000 ? 0 : 1)
        }
    }

    /// The pages of the address space (proc(5), `statm`).
    private static func mappedPages() -> Int {
        let text = FileManager.default.contents(atPath: "/proc/self/statm").map { String(decoding: $0, as: UTF8.self) } ?? ""
        return text.split(separator: " ").first.flatMap { Int($0) } ?? 0
    }
}
