import CleanSlate
import Foundation
import Glibc
import Testing

/// Each call of the system that a main path of the store makes, SQLite's included, fails once, in a process of its own. Then once more with
/// the disk broken from that call on. The caller gets a typed error or a miss; the store opened afterwards is whole, and has the old or the new.
@Suite(.leavesNothing, .alone, .timeLimit(.minutes(5)))
struct StoreFaultTests {
    @Test(arguments: StorePath.allCases)
    func everyCallMayFail(_ path: StorePath) async throws {
        let report = NSTemporaryDirectory() + "scopednet-store-faults-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: report) }
        let setting = StoreFaultSetting(path: path, report: report)
        await #expect(processExitsWith: .success) { [setting = setting as StoreFaultSetting] in
            let lab = try StoreFaultLab(setting)
            try await lab.run()
            exit(lab.isGood ? 0 : 1)
        }
        let text = (try? String(contentsOfFile: report, encoding: .utf8)) ?? "no report"
        print(text, terminator: "")
        #expect(!text.contains("✘"), "\(text)")
    }
}

/// What the child process is told.
struct StoreFaultSetting: Codable, Sendable {
    var path: StorePath
    var report: String
}

/// What is done with a store that was closed before, and is opened for it.
enum StorePath: String, CaseIterable, Codable, Sendable {
    /// Opened where there was none.
    case make
    case open, get, getFile, put, putFile, update, remove, clear, clearAll, evict, touch, list, verify, setRecord, record
    /// In shared mode.
    case sharedGet, sharedPut, sharedRemove

    var isShared: Bool { [.sharedGet, .sharedPut, .sharedRemove].contains(self) }
}
