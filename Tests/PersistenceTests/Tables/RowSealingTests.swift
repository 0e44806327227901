import CleanSlate
import FoundationEssentials
import GRDB
import Testing

@testable import Persistence

/// The line between entries as memory has them and their rows.
@Suite(.leavesNothing) struct RowSealingTests {
    private let plain = RowSealing(sealing: nil)
    private let sealed = RowSealing(sealing: SealingTests.MaskSealing(key: 5))
    private let entry = makeEntry("name", partition: "partition", variant: "variant", metadata: Data("meta".utf8))

    @Test func withoutAKeyNothingChanges() throws {
        let stored = try plain.stored(entry, settled: entry.body)
        #expect(!plain.isSealed)
        #expect(plain.stored(entry.key) == entry.key)
        #expect(plain.stored(partition: "p") == "p" && plain.stored(variant: "v") == "v")
        #expect(stored.key == entry.key && stored.variant == entry.variant && stored.metadata == entry.metadata)
        #expect(stored.body.data == entry.body.data)
        #expect(try plain.opened(entry, of: entry.key).metadata == entry.metadata)
    }

    @Test func aRowShowsNeitherNamesNorContent() throws {
        let row = try sealed.stored(entry, settled: entry.body)
        #expect(row.key == sealed.stored(entry.key) && row.key != entry.key)
        #expect(row.key.partition == sealed.stored(partition: "partition"))
        #expect(row.variant == sealed.stored(variant: "variant") && row.variant != "variant")
        #expect(!String(decoding: row.metadata, as: UTF8.self).contains("meta"))
        #expect(row.body.data != entry.body.data)
        #expect(row.generation == entry.generation && row.storedAt == entry.storedAt)
    }

    @Test func aRowOpensToWhatItWasMadeOf() throws {
        let row = try sealed.stored(entry, settled: entry.body)
        for key in [entry.key, nil] {
            let opened = try sealed.opened(row, of: key)
            #expect(opened.key == entry.key && opened.variant == entry.variant)
            #expect(opened.metadata == entry.metadata && opened.body.data == entry.body.data)
        }
        let names = try sealed.openedNames(row.key, row.variant, row.metadata, generation: row.generation)
        #expect(names.key == entry.key && names.variant == "variant" && names.metadata == entry.metadata)
    }

    @Test func anUpdateOpensAsTheMetadataOfItsEntry() throws {
        let update = MetadataUpdate(
            variant: "variant", generation: 1, metadata: Data("new".utf8), freshUntil: nil, isRevalidatable: true)
        let stored = try sealed.stored(update, of: entry.key)
        #expect(stored.variant == sealed.stored(variant: "variant"))
        let names = try sealed.openedNames(EntryKey(""), "", stored.metadata, generation: 1)
        #expect(names.key == entry.key && names.metadata == Data("new".utf8))
        // Sealed for this generation, it is none of another's.
        #expect(findsDamage { _ = try sealed.openedNames(EntryKey(""), "", stored.metadata, generation: 2) })
    }

    @Test func aRowOfAnotherKeyIsDamage() throws {
        let row = try sealed.stored(entry, settled: entry.body)
        #expect(findsDamage { _ = try sealed.opened(row, of: EntryKey("another")) })
        let other = RowSealing(sealing: SealingTests.MaskSealing(key: 6))
        #expect(findsDamage { _ = try other.opened(row, of: nil) })
    }

    /// Its frames were sealed where it was written.
    @Test func aBodyInAFileStaysAsItIs() throws {
        let file = BodyFile(stored: "/nowhere", layout: FrameLayout(length: 10), checksum: 0)
        let row = try sealed.stored(entry, settled: EntryBody(storage: .file(file)))
        guard case .file(let kept) = row.body.storage else {
            Issue.record("the body is no file any more")
            return
        }
        #expect(kept === file)
    }
}

/// The mark of the key with which a database was written.
@Suite(.leavesNothing) struct SealingMarkTests {
    private let lab: TableLab
    private let sealing = SealingTests.MaskSealing(key: 5)

    init() throws { lab = try TableLab() }

    private func claim(_ sealing: (any StoreSealing)?) throws {
        try lab.queue.writeWithoutTransaction { try SealingMark.claim($0, for: sealing) }
    }

    private func fingerprint() throws -> Data? { try lab.queue.read { try SealingMark.fingerprint(of: $0) } }

    @Test func aNewDatabaseIsMarkedOnce() throws {
        try claim(nil)
        #expect(try fingerprint() == nil)
        try claim(sealing)
        #expect(try fingerprint() == sealing.fingerprint)
        try claim(sealing)
        #expect(try fingerprint() == sealing.fingerprint)
    }

    @Test func anotherKeyOrNoneIsRefused() throws {
        try claim(sealing)
        #expect(findsDamage { try claim(SealingTests.MaskSealing(key: 6)) })
        #expect(findsDamage { try claim(nil) })
    }

    @Test func whatWasWrittenWithoutAKeyIsRefusedWithOne() throws {
        try lab.insert([makeEntry("a")])
        #expect(findsDamage { try claim(sealing) })
        #expect(try fingerprint() == nil)
    }

    @Test func theFingerprintTellsTheSizeOfFrames() {
        #expect(SealingMark.frameOverhead(of: sealing.fingerprint) == sealing.overhead)
        #expect(SealingMark.frameOverhead(of: nil) == 0)
        #expect(SealingMark.frameOverhead(of: Data([1, 2, 3])) == 0)
    }
}
