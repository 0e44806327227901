import CleanSlate
import FoundationEssentials
import Glibc
import Testing

@testable import Persistence

/// Defect 56
@Suite(.leavesNothing) struct BodyWriterTests {
    let folder = TestFolder()

    private func makeWriter(inline: Int = 128 << 10, maximum: Int = 1 << 20) throws -> BodyWriter {
        let files = folder.folder
        try files.prepare()
        return BodyWriter(limits: .init(inline: inline, maximum: maximum)) { () throws(StoreError) in try files.makeTemporaryFile() }
    }

    @Test(arguments: [0, 1, 1000, 131_072, 131_073, 196_608, 1_000_000], [1 << 20, 65_536, 7777])
    func whatGoesInComesOut(length: Int, chunk: Int) throws {
        let bytes = pattern(length, seed: UInt64(length))
        let writer = try makeWriter()
        for start in stride(from: 0, to: length, by: chunk) { try writer.write(bytes.subdata(in: start..<min(length, start + chunk))) }
        let body = try writer.finish()
        #expect(body.length == length)
        #expect(folder.temporaries.count == (length > 128 << 10 ? 1 : 0))
        let entry = EntryBody(storage: body.storage)
        #expect(try entry.load(limit: length) == bytes)
        if length > 0 { #expect(throws: StoreError.self) { try entry.load(limit: length - 1) } }
    }

    @Test func whatIsNotStoredLeavesNothingBehind() throws {
        do {
            let dropped = try makeWriter()
            try dropped.write(Data(count: 200_000))
            let finished = try makeWriter()
            try finished.write(Data(count: 200_000))
            let body = try finished.finish()
            #expect(folder.temporaries.count == 2)
            withExtendedLifetime(body) {}
            let abandoned = try makeWriter()
            try abandoned.write(Data(count: 200_000))
            abandoned.abandon()
            #expect(folder.temporaries.count == 2)
            #expect(throws: StoreError.self) { try abandoned.write(Data(count: 1)) }
            #expect(throws: StoreError.self) { try abandoned.finish() }
        }
        #expect(folder.temporaries.isEmpty)
    }

    @Test func moreThanTheLimitIsRefusedAndRemoved() throws {
        let writer = try makeWriter()
        try writer.write(Data(count: 1 << 20))
        let error = #expect(throws: StoreError.self) { try writer.write(Data(count: 1)) }
        #expect(error?.code == .tooLarge)
        #expect(folder.temporaries.isEmpty)
        let again = #expect(throws: StoreError.self) { try writer.finish() }
        #expect(again?.code == .closed)
    }

    @Test func aBodyHasOneEntry() async throws {
        let store = Store(folder.configuration())
        let writer = store.makeBodyWriter()
        try writer.write(Data(count: 200_000))
        let body = try writer.finish()
        store.put(NewStoreEntry(key: EntryKey("a"), metadata: Data(), body: body))
        try await store.flush()
        store.put(NewStoreEntry(key: EntryKey("b"), metadata: Data(), body: body))
        try? await store.flush()
        await store.relieveMemory()
        let first = await store.lookup(EntryKey("a"))
        let second = await store.lookup(EntryKey("b"))
        #expect(first.entries.count == 1 && second.entries.isEmpty)
        #expect(store.condition == .open)
        await store.close()
    }
}
