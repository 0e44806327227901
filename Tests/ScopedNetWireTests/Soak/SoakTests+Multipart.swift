import Foundation
import Glibc
import Testing

@testable import ScopedNet

/// Here, because what the process takes has to be the test's own.
extension SoakTests {
    // MP-8: 5 GiB that take no room on a disk, and little in memory.
    @Test func aFileOf5GiBIsReadInBoundedMemory() async throws {
        // Of a sparse file in memory the kernel copies one page of zeros; other file systems fill their cache with it.
        let shared = URL(filePath: "/dev/shm")
        let folder = try access("/dev/shm", W_OK) == 0 ? PartFolder(in: shared) : PartFolder()
        let file = try folder.file("large.bin", Data())
        try #require(truncate(file.path, 5 << 30) == 0)
        var form = MultipartForm()
        try form.add(file: file, name: "large")
        let before = try residentBytes()
        var count: Int64 = 0
        var most = before
        var largest = 0
        var pieces = 0
        try await form.write { piece in
            count += Int64(piece.count)
            largest = max(largest, piece.count)
            pieces += 1
            if pieces % 4096 == 0 { most = max(most, try residentBytes()) }
        }
        #expect(count == form.contentLength && count > 5 << 30)
        #expect(largest <= 128 << 10)
        #expect(most - before < 16 << 20, "\(most - before) bytes more")
        print("a form with a file of 5 GiB: \((most - before) >> 10) KiB more while it was read")
    }

    private func residentBytes() throws -> Int {
        let fields = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
        return (Int(fields[1]) ?? 0) * 4096
    }
}
