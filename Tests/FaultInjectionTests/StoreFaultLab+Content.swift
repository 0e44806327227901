import Foundation

@testable import Persistence

/// What the store of a round holds before, what is done with it, and what it may hold afterwards.
extension StoreFaultLab {
    static let small = EntryKey("small")
    static let large = EntryKey("large")
    static let other = EntryKey("other", partition: "p")
    static let added = EntryKey("added")

    /// Bodies, by key. Above 4 KiB they get a file.
    private static func body(_ key: EntryKey, _ seed: UInt8) -> Data {
        Data((0..<(key == large ? 150_000 : 1_000)).map { UInt8(truncatingIfNeeded: $0) ^ seed })
    }

    static func old(_ key: EntryKey) -> Data? { key == added ? nil : body(key, 1) }
    static func new(_ key: EntryKey) -> Data { body(key, 2) }

    func configuration(_ directory: String) -> StoreConfiguration {
        var configuration = StoreConfiguration(directory: directory, mode: setting.path.isShared ? .shared : .private)
        configuration.limits.inlineBodyBytes = 4 << 10
        return configuration
    }

    /// A store with something of everything, to be copied for each round.
    func makeTemplate() async throws {
        let store = Store(configuration(folder + "/template"))
        for key in [Self.small, Self.large, Self.other] {
            store.put(NewStoreEntry(key: key, metadata: Data("old".utf8), body: .data(Self.old(key) ?? Data())))
        }
        try await store.flush()
        try await store.setRecords([StoreRecord(name: "r", data: Data("old".utf8))], in: "n")
        await store.close()
    }

    // MARK: What is done

    func walk(_ store: Store) async throws(StoreError) {
        switch setting.path {
        case .open: await store.opened()
        case .get, .sharedGet: _ = await store.lookup(Self.small)
        case .getFile:
            if let entry = await store.lookup(Self.large).entries.first { _ = try entry.body.load(limit: 1 << 20) }
        case .make, .put, .sharedPut:
            store.put(NewStoreEntry(key: Self.small, metadata: Data("new".utf8), body: .data(Self.new(Self.small))))
            store.put(NewStoreEntry(key: Self.added, metadata: Data("new".utf8), body: .data(Self.new(Self.added))))
            try await store.flush()
        case .putFile:
            let writer = store.makeBodyWriter()
            try writer.write(Self.new(Self.large))
            let outcome = store.put(NewStoreEntry(key: Self.large, metadata: Data("new".utf8), body: try writer.finish()))
            if outcome == .accepted { try await store.flush() }
        case .update:
            guard let entry = await store.lookup(Self.small).entries.first else { return }
            store.update(entry, metadata: Data("new".utf8))
            try await store.flush()
        case .remove, .sharedRemove:
            store.remove(Self.small)
            store.remove(Self.large)
            try await store.flush()
        case .clear:
            store.removeAll(in: "p")
            try await store.flush()
        case .clearAll:
            store.removeAll()
            try await store.flush()
        case .evict:
            await store.opened()
            try await store.writing { (database) throws(DatabaseFailure) in
                _ = try database.evict(bytes: 1 << 20, now: 2_000_000_000_000)
                try database.vacuum()
            }
        case .touch:
            await store.opened()
            try await store.writing { (database) throws(DatabaseFailure) in try database.writeTouches([Self.small: 1]) }
        case .list: _ = try await store.list()
        case .verify:
            let report = try await store.verify()
            if !report.isClean { throw StoreError(.damaged, report.problems.joined(separator: "; ")) }
        case .setRecord:
            await store.opened()
            try await store.setRecords([StoreRecord(name: "r", data: Data("new".utf8))], in: "n")
        case .record: _ = try await store.record("r", in: "n")
        }
    }

    private var changed: [EntryKey] {
        switch setting.path {
        case .make, .put, .sharedPut: [Self.small, Self.added]
        case .putFile: [Self.large]
        case .remove, .sharedRemove: [Self.small, Self.large]
        case .clear: [Self.other]
        case .clearAll, .evict: [Self.small, Self.large, Self.other]
        default: []
        }
    }

    private var removes: Bool { [.remove, .sharedRemove, .clear, .clearAll].contains(setting.path) }

    // MARK: What may be there

    /// In the process that made the change it holds at once, whatever became of the disk: at the worst there is nothing.
    func told(by store: Store) async -> String? {
        for key in [Self.small, Self.large, Self.other, Self.added] {
            guard let entry = await store.lookup(key).entries.first else { continue }
            // A file that cannot be opened or read is an error with a type, of whoever opens it.
            guard let body = try? entry.body.load(limit: 1 << 20) else { continue }
            let isChanged = changed.contains(key) && setting.path != .evict
            if body == Self.old(key), !isChanged { continue }
            if body == Self.new(key), isChanged, !removes { continue }
            // What was refused was never there: the old one is right.
            if setting.path == .putFile, body == Self.old(key) { continue }
            return "the store that made the change gives \(body.count) bytes of \(key) that it must not give"
        }
        return nil
    }

    /// The store as the next process finds it.
    func kept(in directory: String, _ outcome: Result<Void, StoreError>, isReplaced: Bool) async -> String? {
        let store = Store(configuration(directory))
        defer { withExtendedLifetime(store) {} }
        var problem: String?
        do throws(StoreError) {
            let report = try await store.verify()
            if !report.isClean { problem = "damaged: \(report.problems)" }
        } catch {
            problem = "cannot be used any more: \(error)"
        }
        let isDone = (try? outcome.get()) != nil
        for key in [Self.small, Self.large, Self.other, Self.added] where problem == nil {
            let found = await content(key, of: store)
            var allowed: [Data?] = isReplaced ? [nil] : []
            if !changed.contains(key) || !isDone || setting.path == .putFile || setting.path == .evict {
                allowed.append(setting.path == .make ? nil : Self.old(key))
            }
            if changed.contains(key) { allowed.append(removes || setting.path == .evict ? nil : Self.new(key)) }
            if !allowed.contains(found) {
                problem = "\(key) has \(found.map { "\($0.count) bytes" } ?? "nothing"), which is neither old nor new"
            }
        }
        if problem == nil { problem = await keptRecord(of: store, isDone: isDone, isReplaced: isReplaced) }
        await store.close()
        return problem
    }

    private func content(_ key: EntryKey, of store: Store) async -> Data? {
        guard let entry = await store.lookup(key).entries.first else { return nil }
        return (try? entry.body.load(limit: 1 << 20)) ?? Data()
    }

    private func keptRecord(of store: Store, isDone: Bool, isReplaced: Bool) async -> String? {
        // One error costs no record, whatever becomes of the entries beside it.
        guard setting.path != .make, !isReplaced || !isBreaking else { return nil }
        let found = try? await store.record("r", in: "n").map { String(decoding: $0.data, as: UTF8.self) }
        let isRight = setting.path == .setRecord ? found == "new" || !isDone && found == "old" : found == "old"
        return isRight ? nil : "the record is \(found ?? "gone")"
    }
}
