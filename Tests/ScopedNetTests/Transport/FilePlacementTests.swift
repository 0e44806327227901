import CleanSlate
import Foundation
import Glibc
import Testing

@testable import ScopedNet

/// What a file that is being written is called, and how it gets its name.
@Suite(.leavesNothing) struct FilePlacementTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.path + "/file.txt" }

    private func fill(_ descriptor: Int32) { _ = Glibc.write(descriptor, "new", 3) }

    /// As on a file system that makes no files without a name.
    private func openNamed(_ placement: FilePlacement) -> Int32 {
        let descriptor = open(placement.temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        flock(descriptor, LOCK_EX | LOCK_NB)
        return descriptor
    }

    private var makesNamelessFiles: Bool {
        let descriptor = open(folder.path, 0o20_000_000 | O_DIRECTORY | O_RDWR | O_CLOEXEC, 0o600)
        if descriptor >= 0 { close(descriptor) }
        return descriptor >= 0
    }

    /// A process that is killed here leaves nothing.
    @Test func aFileThatIsBeingWrittenHasNoNameWhereTheFileSystemCanDoThat() throws {
        let sink = FileSink(destination: path)
        try sink.write(Data("new".utf8))
        #expect(folder.names.count == (makesNamelessFiles ? 0 : 1))
        try sink.commit()
        #expect(folder.names == ["file.txt"] && folder.contents(of: "file.txt") == Data("new".utf8))
    }

    @Test func whatAKilledProcessLeftElsewhereIsFoundAndWhatIsInUseIsNot() throws {
        let placement = FilePlacement(beside: path, .system)
        let descriptor = openNamed(placement)
        fill(descriptor)
        #expect(try PartialDownload.removeAll(in: URL(filePath: folder.path)) == 0)
        #expect(folder.names.count == 1)
        close(descriptor)
        #expect(try PartialDownload.removeAll(in: URL(filePath: folder.path)) == 1)
        #expect(folder.names.isEmpty)
    }

    @Test(arguments: [false, true]) func aFileTakesThePlaceOfAnotherOrANameBesideIt(isNamed: Bool) throws {
        guard isNamed || makesNamelessFiles else { return }
        _ = folder.write("old", to: "file.txt")
        for replaces in [false, true] {
            let placement = FilePlacement(beside: path, .system)
            let descriptor = isNamed ? openNamed(placement) : placement.open(0o600).descriptor
            fill(descriptor)
            if replaces {
                #expect(try placement.replace(path, descriptor, isNamed: isNamed))
            } else {
                #expect(try placement.place(at: path, descriptor, isNamed: isNamed) == folder.path + "/file (1).txt")
                #expect(folder.contents(of: "file.txt") == Data("old".utf8))
            }
            close(descriptor)
        }
        #expect(folder.names == ["file (1).txt", "file.txt"])
        #expect(folder.contents(of: "file.txt") == Data("new".utf8) && folder.contents(of: "file (1).txt") == Data("new".utf8))
    }

    @Test(arguments: [false, true]) func aRenameThatFailsLeavesNoName(isNamed: Bool) throws {
        guard isNamed || makesNamelessFiles else { return }
        var calls = FileCalls.system
        calls.rename = { _, _ in
            errno = EDQUOT
            return -1
        }
        let placement = FilePlacement(beside: path, calls)
        let descriptor = isNamed ? openNamed(placement) : placement.open(0o600).descriptor
        #expect(try !placement.replace(path, descriptor, isNamed: isNamed) && errno == EDQUOT)
        close(descriptor)
        #expect(folder.names.isEmpty)
        guard isNamed else { return }
        let second = openNamed(placement)
        #expect(try placement.place(at: path, second, isNamed: true) == nil && errno == EDQUOT)
        close(second)
        #expect(folder.names.isEmpty)
    }

    /// The number of a process comes again, and its first file must not be another's leftover.
    @Test func noTwoFilesAreCalledTheSame() {
        let names = Set((0..<100).map { _ in FilePlacement(beside: path, .system).temporary })
        #expect(names.count == 100)
        let long = FilePlacement(beside: folder.path + "/" + String(repeating: "ü", count: 127), .system).temporary
        #expect(long.utf8.count - folder.path.utf8.count - 1 <= 255)
    }
}
