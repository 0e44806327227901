import CleanSlate
import Foundation
import Glibc
import SystemSupport
import Testing

@_spi(Transport) @testable import ScopedNet

/// A file that is discarded by one thread while another one uses it.
@Suite(.leavesNothing, .timeLimit(.minutes(5))) struct FileSinkTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.path + "/file" }

    /// A second close(2) of a number would close what another thread has opened meanwhile.
    @Test func aDiscardDuringTheRemovalClosesNothingAgain() async throws {
        let closed = Gathered<Int32>()
        let discard = Lock<(@Sendable () -> Void)?>(nil)
        var calls = FileCalls.system
        calls.close = { descriptor in
            closed.add(descriptor)
            // On its way: the file still counts as open to who does not take it out first.
            discard.withLock { $0 }?()
            return Glibc.close(descriptor)
        }
        let file = FileSink(destination: path, calls: calls)
        try file.write(Data("new".utf8))
        discard.withLock { $0 = { if closed.all.count < 4 { file.discard() } } }
        #expect(throws: NetworkError.self) { try file.commit { false } }
        file.discard()
        // The duplicate that late errors are told at, and the file itself.
        #expect(closed.all.count == 2 && Set(closed.all).count == 2, "\(closed.all)")
        #expect(folder.names.isEmpty)
        discard.withLock { $0 = nil }
    }

    /// A write outside a transfer has no writer that holds the file for it.
    @Test func aDiscardDuringAWriteLeavesTheFileOpenUntilItReturns() throws {
        let closed = Gathered<Int32>()
        let discard = Lock<(@Sendable () -> Void)?>(nil)
        var calls = FileCalls.system
        calls.close = { descriptor in
            closed.add(descriptor)
            return Glibc.close(descriptor)
        }
        calls.write = { descriptor, bytes, count in
            discard.withLock { $0 }?()
            #expect(closed.all.isEmpty)
            return Glibc.write(descriptor, bytes, count)
        }
        let file = FileSink(destination: path, calls: calls)
        discard.withLock { $0 = { file.discard() } }
        try file.write(Data("late".utf8))
        #expect(closed.all.count == 1)
        #expect(file.count == 0)
        #expect(throws: NetworkError.self) { try file.commit() }
        #expect(closed.all.count == 1)
        #expect(folder.names.isEmpty)
        discard.withLock { $0 = nil }
    }

    /// The run was told that it had failed while the disk took its time with the temporary name.
    @Test(arguments: ["the run has ended", "the file was discarded"])
    func aFileThatIsUnwantedBeforeItsLastStepReplacesNothing(_ what: String) throws {
        _ = folder.write("old", to: "file")
        let isWanted = Lock(true)
        let discard = Lock<(@Sendable () -> Void)?>(nil)
        var calls = FileCalls.system
        calls.name = { descriptor, path in
            if what == "the run has ended" { isWanted.withLock { $0 = false } } else { discard.withLock { $0 }?() }
            return FileCalls.system.name(descriptor, path)
        }
        let file = FileSink(destination: path, calls: calls)
        discard.withLock { $0 = { file.forbidPlacing() } }
        try file.write(Data("new".utf8))
        guard folder.names == ["file"] else { return }
        let error = #expect(throws: NetworkError.self) { try file.commit { isWanted.withLock { $0 } } }
        #expect(error?.code == .cancelled)
        file.discard()
        #expect(folder.names == ["file"] && folder.contents(of: "file") == Data("old".utf8))
        discard.withLock { $0 = nil }
    }

    /// The same where the server names the file: another name is tried, and takes its time.
    @Test func aFileThatIsUnwantedWhileNamesAreTriedGetsNone() throws {
        _ = folder.write("old", to: "file")
        let isWanted = Lock(true)
        var calls = FileCalls.system
        calls.name = { descriptor, path in
            isWanted.withLock { $0 = false }
            return FileCalls.system.name(descriptor, path)
        }
        let file = FileSink(destination: path, keepsExisting: true, calls: calls)
        try file.write(Data("new".utf8))
        guard folder.names == ["file"] else { return }
        let error = #expect(throws: NetworkError.self) { try file.commit { isWanted.withLock { $0 } } }
        #expect(error?.code == .cancelled)
        #expect(folder.names == ["file"] && folder.contents(of: "file") == Data("old".utf8))
    }
}
