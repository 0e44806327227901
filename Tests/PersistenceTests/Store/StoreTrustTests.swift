import CleanSlate
import FoundationEssentials
import Glibc
import Testing

@testable import Persistence

/// Folders, files and links that were there before the store: used only where no other user can
/// replace or write what is in them (YTK-16).
@Suite(.leavesNothing) struct StoreTrustTests {
    let folder = TestFolder()
    private static let isRoot = geteuid() == 0
    /// Of users that nothing on this machine has to do with.
    private static let stranger: uid_t = 54_321
    private static let other: uid_t = 54_322

    private var store: String { folder.path + "/store" }

    private func condition(_ directory: String? = nil) async -> StoreCondition {
        let store = Store(StoreConfiguration(directory: directory ?? store))
        let condition = await store.opened()
        await store.close()
        return condition
    }

    private func refusal(_ directory: String? = nil) async -> String? {
        guard case .memoryOnly(let reason) = await condition(directory) else { return nil }
        return reason
    }

    /// A closed store with a large body, and a folder beside it with files that are none of its
    /// business.
    private func makeStore() async throws -> (elsewhere: String, file: String) {
        let made = Store(StoreConfiguration(directory: store))
        try await made.putAndFlush(NewStoreEntry(key: EntryKey("a"), metadata: Data([1]), body: .data(Data(count: 200_000))))
        await made.close()
        let elsewhere = folder.path + "/elsewhere"
        mkdir(elsewhere, 0o755)
        mkdir(elsewhere + "/deeper", 0o755)
        let file = elsewhere + "/deeper/precious"
        try folder.overwrite(file, [1, 2, 3])
        return (elsewhere, file)
    }

    private func isUntouched(_ elsewhere: String, _ file: String) -> Bool {
        folder.contents(file) == [1, 2, 3] && Files.mode(of: elsewhere) == 0o755 && Files.mode(of: elsewhere + "/deeper") == 0o755
    }

    // MARK: One user, and links

    @Test(arguments: ["bodies-1", "tmp-1"])
    func aLinkInPlaceOfAFolderIsNotFollowed(name: String) async throws {
        let (elsewhere, file) = try await makeStore()
        try FileManager.default.removeItem(atPath: "\(store)/\(name)")
        symlink(elsewhere, "\(store)/\(name)")
        try folder.overwrite(store + "/store-1.sqlite", Array("no database at all".utf8))
        unlink(store + "/store-1.sqlite-wal")
        let reason = await refusal()
        #expect(reason?.contains("\(store)/\(name)") == true, "\(reason ?? "opened")")
        #expect(isUntouched(elsewhere, file))
        #expect(folder.contents(store + "/store-1.sqlite") == Array("no database at all".utf8))
    }

    /// A damaged store is replaced, and nothing is removed behind a link among its bodies.
    @Test func aLinkAmongTheBodiesIsNotFollowed() async throws {
        let (elsewhere, file) = try await makeStore()
        symlink(elsewhere + "/deeper", "\(store)/bodies-1/00")
        symlink(elsewhere + "/deeper", "\(store)/bodies-1/link")
        try folder.overwrite(store + "/store-1.sqlite", Array("no database at all".utf8))
        unlink(store + "/store-1.sqlite-wal")
        #expect(await condition() == .open)
        #expect(isUntouched(elsewhere, file))
    }

    /// Old files behind a link are no leftovers of the store.
    @Test func theSweepStaysInItsFolders() async throws {
        let (elsewhere, file) = try await makeStore()
        symlink(elsewhere + "/deeper", "\(store)/bodies-1/00")
        var times = [timeval(tv_sec: 1_000_000, tv_usec: 0), timeval(tv_sec: 1_000_000, tv_usec: 0)]
        utimes(file, &times)
        let again = Store(StoreConfiguration(directory: store))
        #expect(await again.opened() == .open)
        // The sweep is the next thing the store does, and what is asked of it comes after.
        try await again.flush()
        await again.close()
        #expect(isUntouched(elsewhere, file))
    }

    @Test(arguments: ["store-1.sqlite", "store-1.sqlite-wal", "store-1.sqlite-shm", "store-1.sqlite-journal", "store-1.lock"])
    func aLinkInPlaceOfAFileIsNotFollowed(name: String) async throws {
        let (elsewhere, file) = try await makeStore()
        unlink("\(store)/\(name)")
        symlink(file, "\(store)/\(name)")
        #expect(await refusal() != nil)
        #expect(isUntouched(elsewhere, file))
        // One that leads nowhere makes nothing there.
        unlink("\(store)/\(name)")
        symlink(elsewhere + "/new", "\(store)/\(name)")
        #expect(await refusal() != nil)
        #expect(!FileManager.default.fileExists(atPath: elsewhere + "/new"))
    }

    @Test(arguments: ["store-1.sqlite", "store-1.sqlite-wal", "store-1.lock"])
    func aFileThatAllMayWriteIsRefused(name: String) async throws {
        _ = try await makeStore()
        if name.hasSuffix("-wal") { try folder.overwrite("\(store)/\(name)", []) }
        chmod("\(store)/\(name)", 0o666)
        let reason = await refusal()
        #expect(reason?.contains("every user may write to \(store)/\(name)") == true, "\(reason ?? "opened")")
    }

    @Test(arguments: [0o777, 0o1777, 0o770] as [mode_t])
    func aFolderThatOthersMayWriteIsRefused(mode: mode_t) async throws {
        mkdir(store, 0o700)
        // No group of anybody's own.
        if Self.isRoot { chown(store, 0, 54_321) }
        guard mode & 0o002 != 0 || Self.isRoot else { return }
        chmod(store, mode)
        let reason = await refusal()
        #expect(reason?.contains("may write to \(store)") == true, "\(reason ?? "opened")")
        #expect(Files.names(in: store).isEmpty)
    }

    @Test func whatOthersMayWriteWithinIsRefusedAndWhatTheyMayReadIsTakenFromThem() async throws {
        _ = try await makeStore()
        chmod(store + "/bodies-1", 0o755)
        #expect(await condition() == .open)
        #expect(Files.mode(of: store + "/bodies-1") == 0o700)
        chmod(store + "/bodies-1", 0o777)
        let reason = await refusal()
        #expect(reason?.contains("every user may write to \(store)/bodies-1") == true, "\(reason ?? "opened")")
    }

    @Test func aFolderOnTheWayThatAllMayWriteIsRefusedUnlessItIsSticky() async throws {
        mkdir(folder.path + "/open", 0o700)
        chmod(folder.path + "/open", 0o777)
        let reason = await refusal(folder.path + "/open/deep/store")
        #expect(reason?.contains("every user may write to \(folder.path)/open") == true, "\(reason ?? "opened")")
        #expect(Files.names(in: folder.path + "/open").isEmpty)
        chmod(folder.path + "/open", 0o1777)
        #expect(await condition(folder.path + "/open/deep/store") == .open)
        #expect(Files.mode(of: folder.path + "/open/deep") == 0o700)
    }

    /// As with a home folder, or its caches, on another disk.
    @Test func linksOfTheUsersOwnLeadToTheStore() async throws {
        mkdir(folder.path + "/real", 0o700)
        symlink("real", folder.path + "/relative")
        symlink(folder.path + "/relative/../relative/.", folder.path + "/absolute")
        let made = Store(StoreConfiguration(directory: folder.path + "/absolute//x/../x/store/"))
        try await made.putAndFlush(NewStoreEntry(key: EntryKey("a"), metadata: Data([1]), body: .data(Data(count: 200_000))))
        await made.close()
        #expect(StoreInspector.isStore(folder.path + "/real/x/store"))
        let inspector = try StoreInspector(directory: folder.path + "/absolute/x/store")
        #expect(try inspector.verify().entries == 1)
    }

    @Test func linksThatGoRoundAreAnError() async throws {
        symlink("two", folder.path + "/one")
        symlink("one", folder.path + "/two")
        #expect(await refusal(folder.path + "/one/store") != nil)
    }

    /// In a process of its own, whose environment nobody else reads.
    @Test func withoutAnyHomeThereIsNoDiskAndTheReasonSaysWhatToSet() async {
        await #expect(processExitsWith: .success) {
            for name in ["HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "CACHE_DIRECTORY", "STATE_DIRECTORY"] { unsetenv(name) }
            // A user that has no account.
            guard geteuid() != 0 || seteuid(54_321) == 0 else { exit(2) }
            guard getpwuid(geteuid()) == nil else { _exit(0) }
            do throws(StoreError) {
                _ = try StoreConfiguration.stateDirectory("app")
                exit(3)
            } catch {
                guard error.code == .unavailable, error.message.contains("HOME") else { exit(4) }
            }
            let store = Store(.cache("app"))
            guard case .memoryOnly(let reason) = await store.opened(), reason.contains("CacheDirectory=") else { exit(5) }
            do throws(StoreError) {
                try await store.setRecords([StoreRecord(name: "a", data: Data())], in: "n")
                exit(6)
            } catch {
                guard error.message == reason else { exit(7) }
            }
            await store.close()
            // No handlers of exit(3): a process that has changed its user cannot be traced any more, which LeakSanitizer's end takes for an error.
            _exit(0)
        }
    }

    @Test func theFoldersOfASystemdServiceAreUsed() async {
        await #expect(processExitsWith: .success) {
            setenv("CACHE_DIRECTORY", "/var/cache/unit", 1)
            setenv("STATE_DIRECTORY", "/var/lib/other:/var/lib/app", 1)
            guard try StoreConfiguration.cacheDirectory("app") == "/var/cache/unit/app" else { exit(2) }
            guard try StoreConfiguration.stateDirectory("app") == "/var/lib/app" else { exit(3) }
        }
    }

    // MARK: Two users

    private static let needsRoot: Comment = "another user's files can be made by root alone"

    /// The other user could read the log that SQLite makes beside its own database, and replace it.
    @Test(.enabled(if: isRoot, needsRoot)) func aFolderThatAnotherUserMadeFirstIsRefused() async throws {
        mkdir(store, 0o755)
        chown(store, Self.stranger, Self.stranger)
        let reason = await refusal()
        #expect(reason?.contains("\(store) belongs to user \(Self.stranger)") == true, "\(reason ?? "opened")")
        #expect(Files.names(in: store).isEmpty)
        // Deeper down as well.
        #expect(await refusal(store + "/deeper/store") != nil)
        #expect(Files.names(in: store).isEmpty)
    }

    @Test(.enabled(if: isRoot, needsRoot), arguments: ["store-1.sqlite", "store-1.sqlite-wal", "store-1.sqlite-shm", "store-1.lock"])
    func aFileThatAnotherUserMadeFirstIsRefused(name: String) async throws {
        _ = try await makeStore()
        if !FileManager.default.fileExists(atPath: "\(store)/\(name)") { try folder.overwrite("\(store)/\(name)", []) }
        chown("\(store)/\(name)", Self.stranger, Self.stranger)
        let reason = await refusal()
        #expect(reason?.contains("\(store)/\(name) belongs to user \(Self.stranger)") == true, "\(reason ?? "opened")")
    }

    @Test(.enabled(if: isRoot, needsRoot), arguments: ["bodies-1", "tmp-1"])
    func aFolderWithinThatAnotherUserMadeIsRefused(name: String) async throws {
        _ = try await makeStore()
        chown("\(store)/\(name)", Self.stranger, Self.stranger)
        chmod("\(store)/\(name)", 0o755)
        #expect(await refusal()?.contains("\(store)/\(name) belongs to user \(Self.stranger)") == true)
        #expect(Files.mode(of: "\(store)/\(name)") == 0o755)
    }

    @Test(.enabled(if: isRoot, needsRoot)) func aLinkOfAnotherUserIsNotFollowed() async throws {
        chmod(folder.path, 0o1777)
        mkdir(folder.path + "/target", 0o700)
        symlink("target", folder.path + "/link")
        lchown(folder.path + "/link", Self.stranger, Self.stranger)
        #expect(await refusal(folder.path + "/link/store")?.contains("belongs to user \(Self.stranger)") == true)
        #expect(Files.names(in: folder.path + "/target").isEmpty)
    }

    /// A process of one user, a folder of another, and what root made for it.
    @Test(.enabled(if: isRoot, needsRoot)) func anotherProcessAndUserTrustsRootAndItself() throws {
        chmod(folder.path, 0o1777)
        func say(_ directory: String) throws -> String? {
            let child = try ChildProcess(["trust", directory, "\(Self.stranger)"])
            defer { child.wait() }
            return child.line()
        }
        for (name, owner) in [("own", Self.stranger), ("other", Self.other)] {
            mkdir("\(folder.path)/\(name)", 0o700)
            chown("\(folder.path)/\(name)", owner, owner)
            chmod("\(folder.path)/\(name)", 0o755)
        }
        #expect(try say(folder.path + "/own/store") == "open")
        #expect(try say(folder.path + "/made") == "open")
        #expect(try say(folder.path + "/other")?.contains("belongs to user \(Self.other)") == true)
        // Root's folder, which it can read and not write.
        mkdir(folder.path + "/roots", 0o755)
        #expect(try say(folder.path + "/roots/store")?.contains("Permission denied") == true)
    }
}
