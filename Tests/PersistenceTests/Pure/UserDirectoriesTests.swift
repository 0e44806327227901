import CleanSlate
import Testing

@testable import Persistence

/// YTK-16: where the files of a program go.
@Suite(.leavesNothing) struct UserDirectoriesTests {
    private func cache(service: String? = nil, xdg: String? = nil, home: String? = nil, account: String? = nil) -> String? {
        try? UserDirectories(service: service, xdg: xdg, home: home, accountHome: account).directory(.cache, "app")
    }

    @Test func theServicesFolderGoesFirst() {
        #expect(cache(service: "/var/cache/unit", xdg: "/x", home: "/h", account: "/a") == "/var/cache/unit/app")
        #expect(cache(xdg: "/x", home: "/h", account: "/a") == "/x/app")
        #expect(cache(home: "/h", account: "/a") == "/h/.cache/app")
        #expect(cache(account: "/a") == "/a/.cache/app")
    }

    @Test func ofSeveralServiceFoldersTheOneOfThatNameIsIt() {
        #expect(cache(service: "/var/cache/app") == "/var/cache/app")
        #expect(cache(service: "/var/cache/other:/var/cache/app:/var/cache/third") == "/var/cache/app")
        #expect(cache(service: "/var/cache/other:/var/cache/third") == "/var/cache/other/app")
        #expect(cache(service: "/var/cache/application") == "/var/cache/application/app")
        #expect(cache(service: ":/var/cache/one:") == "/var/cache/one/app")
    }

    @Test func stateHasPlacesOfItsOwn() throws {
        #expect(try UserDirectories(home: "/h").directory(.state, "app") == "/h/.local/state/app")
        #expect(try UserDirectories(xdg: "/x").directory(.state, "app") == "/x/app")
    }

    @Test(arguments: ["", "relative", "/", "/nonexistent", "/nonexistent/deeper", "~/x"])
    func whatIsNoFolderIsPassedOver(path: String) {
        #expect(cache(service: path, home: "/h") == "/h/.cache/app")
        #expect(cache(xdg: path, home: "/h") == "/h/.cache/app")
        #expect(cache(home: path, account: "/a") == "/a/.cache/app")
        #expect(cache(account: path) == nil)
    }

    @Test func aNameThatOnlyBeginsLikeNonexistentIsAFolder() {
        #expect(cache(home: "/nonexistential") == "/nonexistential/.cache/app")
    }

    @Test(arguments: ["", ".", "..", "../../x", "a/../../b", "/etc/x", "a//b", "a/", "a/.", "a\0b"], [nil, "/var/cache/unit"])
    func aNameDoesNotLeadOutOfTheFolder(name: String, service: String?) {
        let directories = UserDirectories(service: service, xdg: "/x", home: "/h", accountHome: "/a")
        for kind in [UserDirectories.Kind.cache, .state] {
            let error = #expect(throws: StoreError.self) { try directories.directory(kind, name) }
            #expect(error?.code == .unavailable)
        }
    }

    @Test(arguments: ["..a", "a..", "...", "a/b", "é"]) func namesThatOnlyLookLikeItAreNames(name: String) throws {
        #expect(try UserDirectories(xdg: "/x").directory(.cache, name) == "/x/\(name)")
    }

    @Test func theFolderOfAllIsWhereEachIs() throws {
        #expect(try UserDirectories(xdg: "/x").folderOfAll(.cache) == "/x/")
    }

    @Test(arguments: [(UserDirectories.Kind.cache, "CacheDirectory="), (.state, "StateDirectory=")])
    func withoutAnyTheErrorSaysWhatToSet(kind: UserDirectories.Kind, unit: String) {
        let error = #expect(throws: StoreError.self) { try UserDirectories().directory(kind, "app") }
        #expect(error?.code == .unavailable)
        #expect(error?.message.contains("HOME") == true && error?.message.contains(unit) == true)
    }
}
