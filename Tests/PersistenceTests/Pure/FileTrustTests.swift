import CleanSlate
import Testing

@testable import Persistence

@Suite(.leavesNothing) struct FileTrustTests {
    private typealias Facts = FileTrust.Facts
    private let trust = FileTrust(user: 1000, privateGroup: 1000, unmappedOwner: 65_534)

    private func folder(_ owner: UInt32, _ mode: UInt32, group: UInt32 = 100, hasAccessList: Bool = false) -> Facts {
        Facts(.folder, owner: owner, group: group, mode: mode, hasAccessList: hasAccessList)
    }

    @Test(arguments: [0, 1000] as [UInt32], [0o755, 0o700, 0o711, 0o1755, 0o500] as [UInt32])
    func foldersOfTheUserAndOfRootLeadOn(owner: UInt32, mode: UInt32) {
        for isShared in [false, true] {
            #expect(trust.refusal(leading: folder(owner, mode), beneathShared: isShared) == nil)
            #expect(trust.refusal(keeping: folder(owner, mode), beneathShared: isShared) == nil)
        }
        #expect(!trust.isShared(folder(owner, mode)))
    }

    @Test func anotherUserCouldReplaceWhatIsInItsFolder() {
        #expect(trust.refusal(leading: folder(1001, 0o755), beneathShared: false) == .owner(1001))
        #expect(trust.refusal(leading: folder(1001, 0o1777), beneathShared: false) == .owner(1001))
        #expect(trust.refusal(keeping: folder(1001, 0o700), beneathShared: false) == .owner(1001))
    }

    @Test func rootTrustsNoOtherUser() {
        let root = FileTrust(user: 0)
        #expect(root.refusal(leading: folder(1000, 0o755), beneathShared: false) == .owner(1000))
        #expect(root.refusal(leading: folder(0, 0o755), beneathShared: false) == nil)
    }

    @Test func aFolderForAllLeadsOnWhereItIsSticky() {
        #expect(trust.refusal(leading: folder(0, 0o1777), beneathShared: false) == nil)
        #expect(trust.refusal(leading: folder(0, 0o1770, group: 100), beneathShared: false) == nil)
        #expect(trust.refusal(leading: folder(0, 0o777), beneathShared: false) == .others)
        #expect(trust.refusal(leading: folder(1000, 0o703), beneathShared: false) == .others)
        #expect(trust.isShared(folder(0, 0o1777)))
        #expect(trust.isShared(folder(0, 0o1770, group: 100)))
    }

    /// Others could take the name of a log that is still to be made.
    @Test func stickyIsNotEnoughToKeepFilesIn() {
        #expect(trust.refusal(keeping: folder(0, 0o1777), beneathShared: false) == .others)
        #expect(trust.refusal(keeping: folder(1000, 0o1770, group: 100), beneathShared: false) == .group(100))
    }

    @Test func aGroupMayWriteWhereItIsRootsOrTheUsersAlone() {
        #expect(trust.refusal(leading: folder(1000, 0o775, group: 100), beneathShared: false) == .group(100))
        #expect(trust.refusal(leading: folder(1000, 0o775, group: 1000), beneathShared: false) == nil)
        #expect(trust.refusal(keeping: folder(0, 0o775, group: 0), beneathShared: false) == nil)
        #expect(!trust.isShared(folder(1000, 0o775, group: 1000)))
        let unknown = FileTrust(user: 1000)
        #expect(unknown.refusal(leading: folder(1000, 0o775, group: 1000), beneathShared: false) == .group(1000))
    }

    /// The permissions of the group are then those of anybody the list names.
    @Test func anAccessListTakesTheGroupsPlace() {
        let listed = folder(1000, 0o775, group: 1000, hasAccessList: true)
        #expect(trust.refusal(leading: listed, beneathShared: false) == .group(1000))
        #expect(trust.isShared(listed))
    }

    @Test func anOwnerWithoutANumberCountsAsRootWhereNotEverybodyMakesFolders() {
        #expect(trust.refusal(leading: folder(65_534, 0o755), beneathShared: false) == nil)
        #expect(trust.refusal(leading: folder(65_534, 0o755), beneathShared: true) == .owner(65_534))
        let outside = FileTrust(user: 1000)
        #expect(outside.refusal(leading: folder(65_534, 0o755), beneathShared: false) == .owner(65_534))
    }

    @Test func onlyAFolderLeadsOn() {
        for kind in [Facts.Kind.file, .link, .other] {
            let facts = Facts(kind, owner: 1000, group: 1000, mode: 0o700)
            #expect(trust.refusal(leading: facts, beneathShared: false) == .notAFolder)
            #expect(trust.refusal(keeping: facts, beneathShared: false) == .notAFolder)
        }
    }

    @Test func aLinkIsFollowedWhereItsOwnerIsTrusted() {
        let owners: [(UInt32, Bool, FileTrust.Refusal?)] = [
            (1000, true, nil), (0, true, nil), (1001, false, .owner(1001)), (65_534, false, nil), (65_534, true, .owner(65_534)),
        ]
        for (owner, isShared, expected) in owners {
            let link = Facts(.link, owner: owner, group: 0, mode: 0o777)
            #expect(trust.refusal(link: link, beneathShared: isShared) == expected)
        }
    }

    @Test func whatTheLibraryMadeIsTheUsersAlone() {
        #expect(trust.refusal(made: folder(1000, 0o700), as: .folder) == nil)
        #expect(trust.refusal(made: folder(1000, 0o755), as: .folder) == nil)
        #expect(trust.refusal(made: folder(0, 0o700), as: .folder) == .owner(0))
        #expect(trust.refusal(made: folder(65_534, 0o700), as: .folder) == .owner(65_534))
        #expect(trust.refusal(made: folder(1000, 0o770, group: 1000), as: .folder) == .group(1000))
        #expect(trust.refusal(made: folder(1000, 0o702), as: .folder) == .others)
        let file = Facts(.file, owner: 1000, group: 1000, mode: 0o600)
        #expect(trust.refusal(made: file, as: .file) == nil)
        #expect(trust.refusal(made: file, as: .folder) == .notAFolder)
        let link = Facts(.link, owner: 1000, group: 1000, mode: 0o777)
        #expect(trust.refusal(made: link, as: .folder) == .notAFolder)
        #expect(trust.refusal(made: link, as: .file) == .notAFile)
    }

    @Test(arguments: [
        (FileTrust.Refusal.owner(7), "user 7"), (.group(8), "group 8"), (.others, "every user"), (.notAFolder, "has to be a folder"),
        (.notAFile, "has to be a file"),
    ])
    func theMessageNamesThePathAndTheWayOut(refusal: FileTrust.Refusal, part: String) {
        let message = refusal.message("/a/b")
        #expect(message.contains("/a/b") && message.contains(part) && message.contains("choose"))
    }
}
