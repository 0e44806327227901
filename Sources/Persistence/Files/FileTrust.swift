/// The rule by which folders and files are trusted, from the values of stat(2). (pure)
///
/// No user but root may be able to replace what the library keeps, or write into it. So every
/// folder that leads to it belongs to the user of the process or to root, and no other user may
/// write there, as with `StrictModes` of OpenSSH. A folder such as `/tmp` may lead to it where it
/// is sticky: others can then make names in it, and cannot take those away that belong to this
/// user. Group 0 counts as root's, and a group that the user has for itself as the user's.
package struct FileTrust: Sendable, Hashable {
    /// The answer of stat(2) about a file.
    package struct Facts: Sendable, Hashable {
        package enum Kind: Sendable, Hashable { case folder, file, link, other }

        package var kind: Kind
        package var owner: UInt32
        package var group: UInt32
        /// The permissions, with the sticky bit.
        package var mode: UInt32
        /// True when an access control list names further users; the group's permissions are then the
        /// most that any of them has.
        package var hasAccessList = false

        package init(_ kind: Kind, owner: UInt32, group: UInt32, mode: UInt32, hasAccessList: Bool = false) {
            self.kind = kind
            self.owner = owner
            self.group = group
            self.mode = mode
            self.hasAccessList = hasAccessList
        }

        var isSticky: Bool { mode & 0o1000 != 0 }
        var othersMayWrite: Bool { mode & 0o002 != 0 }
        var groupMayWrite: Bool { mode & 0o020 != 0 }
    }

    /// Why something is not trusted.
    package enum Refusal: Error, Sendable, Hashable {
        case notAFolder
        case notAFile
        /// It belongs to another user.
        case owner(UInt32)
        /// Members of the group may write to it.
        case group(UInt32)
        /// All users may write to it.
        case others
    }

    /// The effective user of the process.
    package var user: UInt32
    /// The group that the user has for itself, where that is known.
    package var privateGroup: UInt32?
    /// The number that stands for an owner without one in this user namespace.
    package var unmappedOwner: UInt32?

    package init(user: UInt32, privateGroup: UInt32? = nil, unmappedOwner: UInt32? = nil) {
        self.user = user
        self.privateGroup = privateGroup
        self.unmappedOwner = unmappedOwner
    }

    /// Decides about a folder on the way to what is kept. Nil when it is trusted.
    ///
    /// `beneathShared` is true where other users can make names in a folder above it.
    package func refusal(leading facts: Facts, beneathShared: Bool) -> Refusal? {
        guard facts.kind == .folder else { return .notAFolder }
        guard isTrusted(facts.owner, beneathShared) else { return .owner(facts.owner) }
        return facts.isSticky ? nil : writers(facts)
    }

    /// Decides about a folder in which files are kept. Here sticky does not help: other users could
    /// take the names of files that are still to be made.
    package func refusal(keeping facts: Facts, beneathShared: Bool) -> Refusal? {
        refusal(leading: facts, beneathShared: beneathShared) ?? writers(facts)
    }

    /// Decides about a symbolic link on the way: its owner says where it leads.
    package func refusal(link facts: Facts, beneathShared: Bool) -> Refusal? {
        isTrusted(facts.owner, beneathShared) ? nil : .owner(facts.owner)
    }

    /// Decides about a folder or file that the library made, or would have made, itself.
    package func refusal(made facts: Facts, as kind: Facts.Kind) -> Refusal? {
        guard facts.kind == kind else { return kind == .folder ? .notAFolder : .notAFile }
        guard facts.owner == user else { return .owner(facts.owner) }
        if facts.othersMayWrite { return .others }
        return facts.groupMayWrite ? .group(facts.group) : nil
    }

    /// True when other users can make names in a folder that may lead on.
    package func isShared(_ facts: Facts) -> Bool { writers(facts) != nil }

    /// In a user namespace root may have no number. Who can only be seen as nobody is taken for
    /// root, but not where anybody can make a folder.
    private func isTrusted(_ owner: UInt32, _ beneathShared: Bool) -> Bool {
        owner == user || owner == 0 || !beneathShared && owner == unmappedOwner
    }

    private func writers(_ facts: Facts) -> Refusal? {
        if facts.othersMayWrite { return .others }
        guard facts.groupMayWrite else { return nil }
        if facts.hasAccessList { return .group(facts.group) }
        return facts.group == 0 || facts.group == privateGroup ? nil : .group(facts.group)
    }
}

extension FileTrust.Refusal {
    /// The fault of the path, and what to do about it.
    package func message(_ path: String) -> String {
        switch self {
        case .notAFolder: "\(path) is a link or a file, and has to be a folder: remove it, or choose another folder"
        case .notAFile: "\(path) is a link or a folder, and has to be a file: remove it, or choose another folder"
        case .owner(let owner):
            "\(path) belongs to user \(owner), who could replace what is kept there: choose a folder that only you and root can reach into"
        case .group(let group):
            "members of group \(group) may write to \(path): take that away (chmod g-w), or choose another folder"
        case .others: "every user may write to \(path): take that away (chmod go-w), or choose another folder"
        }
    }
}
