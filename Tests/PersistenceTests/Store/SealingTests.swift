import CleanSlate
import FoundationEssentials
import Testing

@testable import Persistence

/// What is on disk when a store has a key, with a sealing that is easy to see through and yet tells when it is misused.
@Suite(.leavesNothing) struct SealingTests {
    /// Nobody's idea of a cipher: every byte is changed, and eight more say by whom and for what.
    struct MaskSealing: StoreSealing {
        let key: UInt8
        var overhead: Int { 8 }

        private func tag(_ text: Data, _ context: Data) -> Data {
            var sum = Checksum(seed: UInt64(key))
            sum.add(context)
            sum.add(text)
            return withUnsafeBytes(of: sum.stored.littleEndian) { Data($0) }
        }

        func seal(_ text: Data, context: Data) throws(StoreError) -> Data { Data(text.map { $0 ^ key }) + tag(text, context) }

        func open(_ sealed: Data, context: Data) throws(StoreError) -> Data {
            let text = Data(sealed.dropLast(8).map { $0 ^ key })
            guard sealed.count >= 8, Data(sealed.suffix(8)) == tag(text, context) else { throw StoreError(.damaged, "not sealed so") }
            return text
        }

        func hash(_ text: Data) -> Data {
            let first = tag(text, Data("hash".utf8))
            return first + tag(first, text)
        }
    }

    let folder = TestFolder()

    private func configuration(_ key: UInt8?, _ mode: StoreConfiguration.Mode = .private) -> StoreConfiguration {
        folder.configuration(mode) { $0.sealing = key.map { MaskSealing(key: $0) } }
    }

    private let key = EntryKey("https://example.test/plain-name", partition: "plain-partition")

    /// Bodies around the limit between rows and files, and around that of frames.
    private static let sizes = [0, 1, 1_000, 131_071, 131_072, 131_073, 131_080, 131_090, 196_608, 300_001]

    private func body(_ size: Int) -> Data { Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }) }

    private func fill(_ store: Store) async throws {
        for size in Self.sizes {
            store.put(
                NewStoreEntry(
                    key: key, variant: "plain-variant-\(size)", metadata: Data("plain-metadata-\(size)".utf8), body: .data(body(size)))
            )
        }
        let writer = store.makeBodyWriter()
        try writer.write(Data("plain-body".utf8) + body(200_000))
        store.put(NewStoreEntry(key: EntryKey("written"), metadata: Data("m".utf8), body: try writer.finish()))
        try await store.setRecords([StoreRecord(name: "r", data: Data("plain-record".utf8))], in: "n")
        try await store.flush()
    }

    @Test func everythingComesBackWithTheKey() async throws {
        let first = Store(configuration(5))
        try await fill(first)
        await first.close()
        let store = Store(configuration(5))
        let entries = await store.lookup(key).entries
        #expect(entries.count == Self.sizes.count)
        for size in Self.sizes {
            let entry = try #require(entries.first { $0.variant == "plain-variant-\(size)" })
            #expect(entry.metadata == Data("plain-metadata-\(size)".utf8) && entry.key == key)
            let read = try entry.body.load(limit: 1 << 20)
            #expect(read == body(size), "\(size)")
        }
        let written = try #require(await store.lookup(EntryKey("written")).entries.first)
        let reader = try written.body.makeReader()
        for range in [0..<10, 65_530..<65_550, 131_060..<196_640, 200_000..<200_010] {
            let part = try reader.read(at: range.lowerBound, upTo: range.count)
            #expect(part == (Data("plain-body".utf8) + body(200_000))[range], "\(range)")
        }
        let record = try await store.record("r", in: "n")
        #expect(record?.data == Data("plain-record".utf8))
        await store.close()
    }

    @Test func nothingOnDiskCanBeRead() async throws {
        let store = Store(configuration(5))
        try await fill(store)
        await store.close()
        let files = try FileManager.default.subpathsOfDirectory(atPath: folder.folder.path)
        var bytes = Data()
        for file in files {
            let path = folder.folder.path + "/" + file
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            // Folders have no bytes of their own.
            guard attributes[.type] as? FileAttributeType == .typeRegular else { continue }
            bytes.append(FileManager.default.contents(atPath: path) ?? Data())
        }
        #expect(bytes.count > 500_000)
        #expect(!bytes.contains(Data("plain-".utf8)))
        #expect(!bytes.contains(body(300_001).prefix(2_000).suffix(100)))
    }

    @Test(arguments: [6, nil] as [UInt8?], [5, nil] as [UInt8?]) func anotherKeyFindsAnEmptyStore(_ second: UInt8?, _ first: UInt8?)
        async throws
    {
        guard first != second else { return }
        let one = Store(configuration(first))
        try await fill(one)
        await one.close()
        let log = EventLog()
        var configuration = configuration(second)
        configuration.onEvent = log.sink
        let other = Store(configuration)
        let found = await other.lookup(key).entries.count
        let listed = try await other.list().count
        #expect(found == 0 && listed == 0)
        #expect(log.all.contains { if case .replaced = $0 { true } else { false } })
        await other.close()
    }

    @Test func theToolSeesNamesWithTheKeyOnlyAndVerifiesWithout() async throws {
        let store = Store(configuration(5))
        try await fill(store)
        await store.close()
        let blind = try StoreInspector(directory: folder.folder.path)
        let report = try blind.verify()
        #expect(report.isClean && report.entries == Self.sizes.count + 1, "\(report)")
        let hidden = try blind.list()
        #expect(hidden.count == report.entries && !hidden.contains { $0.key == key })
        let seeing = try StoreInspector(directory: folder.folder.path, sealing: MaskSealing(key: 5))
        let named = try seeing.list(partition: "plain-partition")
        #expect(named.count == Self.sizes.count && named.allSatisfy { $0.key == key })
        let entries = try seeing.entries(key)
        #expect(entries.count == Self.sizes.count)
    }

    @Test func changesFindWhatTheyAreAbout() async throws {
        let store = Store(configuration(5))
        try await fill(store)
        let entry = try #require(await store.lookup(key).entry(variant: "plain-variant-1000"))
        store.update(entry, metadata: Data("new".utf8))
        store.remove(key, variant: "plain-variant-1")
        try await store.flush()
        await store.relieveMemory()
        let entries = await store.lookup(key).entries
        #expect(entries.count == Self.sizes.count - 1)
        #expect(entries.first { $0.variant == "plain-variant-1000" }?.metadata == Data("new".utf8))
        let report = try await store.verify()
        #expect(report.isClean, "\(report.problems)")
        store.removeAll(in: "plain-partition")
        try await store.flush()
        let left = try await store.list().map(\.key.name)
        #expect(left == ["written"])
        store.remove(EntryKey("written"))
        try await store.flush()
        let none = try await store.list().count
        #expect(none == 0)
        await store.close()
    }

    @Test func severalUsersSeeEachOthersChanges() async throws {
        let (one, other) = (Store(configuration(5, .shared)), Store(configuration(5, .shared)))
        try await fill(one)
        let found = await other.lookup(key).entries.count
        #expect(found == Self.sizes.count)
        one.remove(key)
        try await one.flush()
        let after = await other.lookup(key).entries.count
        #expect(after == 0)
        await one.close()
        await other.close()
    }

    @Test func aFrameInAnothersPlaceDoesNotOpen() throws {
        let sealing = MaskSealing(key: 9)
        let salt = [UInt8](repeating: 1, count: 16)
        let sealed = try sealing.seal(Data("x".utf8), context: SealingContext.frame(0, salt: salt))
        #expect(throws: StoreError.self) { try sealing.open(sealed, context: SealingContext.frame(1, salt: salt)) }
        #expect(throws: StoreError.self) { try sealing.open(sealed, context: SealingContext.frame(0, salt: [2])) }
        #expect(throws: StoreError.self) { try sealing.open(sealed, context: SealingContext.body(0)) }
    }
}

#if Encryption
@Suite(.leavesNothing) struct AESGCMSealingTests {
    @Test func whatIsSealedOpensForTheSameContextOnly() throws {
        let sealing = try AESGCMSealing(key: AESGCMSealing.makeKey())
        for size in [0, 1, 65_536] {
            let text = Data(repeating: 7, count: size)
            let sealed = try sealing.seal(text, context: Data("a".utf8))
            #expect(sealed.count == size + sealing.overhead && sealed != text)
            let opened = try sealing.open(sealed, context: Data("a".utf8))
            #expect(opened == text)
            #expect(throws: StoreError.self) { try sealing.open(sealed, context: Data("b".utf8)) }
            for index in [0, 12, sealed.count - 1] {
                var flipped = sealed
                flipped[index] ^= 1
                #expect(throws: StoreError.self) { try sealing.open(flipped, context: Data("a".utf8)) }
            }
            #expect(throws: StoreError.self) { try sealing.open(sealed.prefix(20), context: Data("a".utf8)) }
        }
    }

    /// Pieces that an earlier release wrote, with another library: (text, context, piece) for the key 0, 1 … 31.
    private static let known = [
        ("", "", "45cb552c1a59fd0778bb7a666fb90028242cfb2a541d28b087422938"),
        ("hello", "body 1", "fec819d8207bc15c5efc3b13ff2d48431317062a3dcff2fd7416314a5c795e7fdb"),
        (
            String(repeating: "x", count: 33), "frame",
            "534e670f3e7143a16a863ff3d19edd12f8d1bc57e746f80a1052dd970a2ecfa62aac30e3cc91da9383d1f376b3c85495cd4d1fa647df3653994faca0ae"
        ),
    ]

    @Test(arguments: known) func piecesOfEarlierReleasesOpen(_ text: String, _ context: String, _ piece: String) throws {
        let sealing = try AESGCMSealing(key: Data(0..<32))
        let opened = try sealing.open(Data(hexadecimal: piece), context: Data(context.utf8))
        #expect(opened == Data(text.utf8))
    }

    @Test func namesOfEarlierReleasesAreFound() throws {
        let sealing = try AESGCMSealing(key: Data(0..<32))
        let ofNothing = try Data(hexadecimal: "32659723079269ec490f266f48eb1612e58fc13b20bdd02cbb14dc2c1cd5e207")
        let ofAName = try Data(hexadecimal: "9f49b7162bace4dd73ff241d4aa0dbf6a8d4f4dc3b9e0b34589c36c382ddea0d")
        #expect(sealing.hash(Data()) == ofNothing && sealing.hash(Data("name key".utf8)) == ofAName)
    }

    /// Nonce, text and tag alike, and what is left of a piece that was cut.
    @Test func everyAlteredByteIsDamage() throws {
        let sealing = try AESGCMSealing(key: AESGCMSealing.makeKey())
        let sealed = try sealing.seal(Data("a text".utf8), context: Data("a".utf8))
        for index in sealed.indices {
            var altered = sealed
            altered[index] ^= 0x80
            #expect { try sealing.open(altered, context: Data("a".utf8)) } throws: { ($0 as? StoreError)?.code == .damaged }
            #expect { try sealing.open(sealed.prefix(index), context: Data("a".utf8)) } throws: { ($0 as? StoreError)?.code == .damaged }
        }
        let other = try AESGCMSealing(key: AESGCMSealing.makeKey())
        #expect { try other.open(sealed, context: Data("a".utf8)) } throws: { ($0 as? StoreError)?.code == .damaged }
    }

    @Test func noTwoSealedTextsAreTheSame() throws {
        let sealing = try AESGCMSealing(key: AESGCMSealing.makeKey())
        let all = try Set((0..<100).map { _ in try sealing.seal(Data("x".utf8), context: Data()) })
        #expect(all.count == 100)
    }

    @Test func anotherKeyOpensNothingAndHidesNamesOtherwise() throws {
        let (one, other) = (try AESGCMSealing(key: AESGCMSealing.makeKey()), try AESGCMSealing(key: AESGCMSealing.makeKey()))
        let sealed = try one.seal(Data("x".utf8), context: Data())
        #expect(throws: StoreError.self) { try other.open(sealed, context: Data()) }
        #expect(one.hidden("a", "name") != other.hidden("a", "name") && one.hidden("a", "name") == one.hidden("a", "name"))
        #expect(one.fingerprint != other.fingerprint)
    }

    @Test(arguments: [0, 16, 31, 33]) func aKeyOfAnotherLengthIsRefused(_ count: Int) {
        #expect(throws: StoreError.self) { try AESGCMSealing(key: Data(count: count)) }
    }

    @Test func aStoreOpensAgain() async throws {
        let folder = TestFolder()
        let sealing = try AESGCMSealing(key: AESGCMSealing.makeKey())
        for round in 0..<2 {
            let store = Store(folder.configuration { $0.sealing = sealing })
            let found = await store.lookup(EntryKey("k")).entries.count
            #expect(found == round)
            store.put(NewStoreEntry(key: EntryKey("k"), metadata: Data("m".utf8), body: .data(Data(count: 300_000))))
            await store.close()
        }
    }
}

extension Data {
    fileprivate init(hexadecimal text: String) throws {
        let digits = Array(text)
        self = Data(try stride(from: 0, to: digits.count, by: 2).map { try #require(UInt8(String(digits[$0...$0 + 1]), radix: 16)) })
    }
}
#endif
