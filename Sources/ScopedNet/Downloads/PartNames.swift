/// What the files beside the target of a download are called. (pure)
///
/// The same in every process and after every restart, so that whoever downloads to the same file finds them.
package struct PartNames: Sendable, Hashable {
    package static let partSuffix = ".scopednet-part"
    package static let recordSuffix = ".scopednet-resume"
    /// Of a record that is being written. No suffix is longer than that of the record.
    package static let draftSuffix = ".scopednet-draft"
    /// NAME_MAX of Linux, in bytes.
    private static let longest = 255

    /// With the slash at its end; empty for the working directory.
    package let folder: String
    /// Of the target.
    package let name: String
    private let stem: String

    package var target: String { folder + name }
    package var part: String { folder + stem + Self.partSuffix }
    package var record: String { folder + stem + Self.recordSuffix }
    package var draft: String { folder + stem + Self.draftSuffix }

    /// Nil for a path that names no file: empty, or ending in a slash, a dot or two.
    package init?(target: String) {
        // Bytes: a slash with an accent behind it is another `Character`.
        let bytes = target.utf8
        let start = bytes.lastIndex(of: UInt8(ascii: "/")).map(bytes.index(after:)) ?? bytes.startIndex
        name = String(target[start...])
        guard !name.isEmpty, name != ".", name != ".." else { return nil }
        folder = String(target[..<start])
        stem = Self.stem(name)
    }

    private init(folder: String, stem: String) {
        self.folder = folder
        self.stem = stem
        name = stem
    }

    /// Names that would be too long with a suffix are cut, and told apart by a hash.
    private static func stem(_ name: String) -> String {
        guard name.utf8.count + recordSuffix.utf8.count > longest else { return name }
        // A scalar has four bytes at most.
        let beginning = String(String.UnicodeScalarView(name.unicodeScalars.prefix(40)))
        return beginning + "-" + MessageDigest.sha256.hexadecimal(Array(name.utf8)).prefix(32)
    }

    /// Of a file found in a folder; nil for files that are neither part nor record nor the draft of one. `name` is the stem, which the record knows better.
    package static func found(_ file: String, in folder: String) -> PartNames? {
        for suffix in [partSuffix, recordSuffix, draftSuffix]
        where file.utf8.count > suffix.utf8.count && file.utf8.elementsHave(suffix: suffix.utf8) {
            return PartNames(folder: folder, stem: String(decoding: file.utf8.dropLast(suffix.utf8.count), as: UTF8.self))
        }
        return nil
    }
}

extension String.UTF8View {
    fileprivate func elementsHave(suffix: String.UTF8View) -> Bool { self.suffix(suffix.count).elementsEqual(suffix) }
}
