import CleanSlate
import Foundation
import HTTPTypes
import ScopedNet
import Testing

/// Downloads that go on, that come anew, that are many, and that take their time. nginx tags a file by date and length.
@Suite(.leavesNothing, .serialized, .enabled(if: Servers.nginx.http != nil, Servers.whyNoNginx), .timeLimit(.minutes(3)))
struct NginxDownloadTests {
    private let session = Servers.session {
        $0.options.downloads.resumes = true
        $0.limits.perHost = 8
    }

    private func put(_ data: Data, _ path: String) async throws {
        _ = try await session.put(Servers.nginxURL + path, body: .data(data)).value()
    }

    private func names(_ folder: Folder) throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() }

    /// Begins or goes on, and is cancelled when some more has come: so slow that it cannot be over by then, however busy the machine is.
    private func breakOff(_ path: String, to file: URL) async throws -> PartialDownload {
        let start = PartialDownload.of(file)?.bytes ?? 0
        let (counts, count) = AsyncStream.makeStream(of: Int64.self)
        let request = session.download(Servers.nginxURL + path, to: file).options { $0.limits.downloadRate = 512 << 10 }
        _ = request.onDownloadProgress { count.yield($0.completed) }
        _ = request.onEnd { _ in count.finish() }
        let run = request.start()
        for await completed in counts where completed > start + (512 << 10) { break }
        await run.cancelAndWait()
        await session.agent.waitUntilIdle()
        let status = run.status
        #expect(status.cancelReason == .explicit, "\(status)")
        return try #require(PartialDownload.of(file))
    }

    // MARK: Going on

    @Test func aDownloadGoesOnWhereItWasCancelled() async throws {
        let folder = try Folder()
        let file = folder.file("got")
        let partial = try await breakOff("/100M.bin", to: file)
        let whole = Int64(100 << 20)
        #expect(partial.total == whole)
        #expect(partial.bytes > 0 && partial.bytes < whole)
        let hasBegun = FileManager.default.fileExists(atPath: file.path)
        #expect(!hasBegun)

        let response = try await session.download(Servers.nginxURL + "/100M.bin", to: file).response()
        let resumed = response.resumedBytes
        #expect(response.status == 200)
        #expect(response.head.contentLength == whole)
        #expect(response.head["etag"] == partial.validator)
        #expect(resumed >= partial.bytes && resumed < whole)
        // The other side has sent the rest, and no more.
        let evidence = try await Evidence.first(session) { $0.path == "/100M.bin" && $0.status == 206 && $0.bytes > 1 << 20 }
        #expect(Int64(evidence.bytes) == whole - resumed)
        let isEqual = FileManager.default.contentsEqual(atPath: file.path, andPath: Servers.folder + "/www/100M.bin")
        let left = try names(folder)
        #expect(isEqual)
        #expect(left == ["got"])
    }

    /// Pausing and going on again and again, each time from where the last one was.
    @Test func aDownloadGoesOnAgainAndAgain() async throws {
        let data = Servers.bytes(24 << 20, 5)
        try await put(data, "/up/again.bin")
        let folder = try Folder()
        let file = folder.file("got")
        var bytes: [Int64] = [0]
        for _ in 0..<3 { bytes.append(try await breakOff("/up/again.bin", to: file).bytes) }
        let isGrowing = zip(bytes, bytes.dropFirst()).allSatisfy { $0 < $1 }
        #expect(isGrowing, "\(bytes)")
        let response = try await session.download(Servers.nginxURL + "/up/again.bin", to: file).response()
        let isEqual = try Data(contentsOf: file) == data
        #expect(response.resumedBytes >= bytes[3])
        #expect(isEqual)
    }

    @Test func aFileThatWasReplacedComesWhole() async throws {
        let (first, second) = (Servers.bytes(24 << 20, 7), Servers.bytes(5 << 20, 11))
        try await put(first, "/up/replaced.bin")
        let folder = try Folder()
        let file = folder.file("got")
        let partial = try await breakOff("/up/replaced.bin", to: file)
        try await put(second, "/up/replaced.bin")
        let response = try await session.download(Servers.nginxURL + "/up/replaced.bin", to: file).response()
        let isSecond = try Data(contentsOf: file) == second
        let left = try names(folder)
        #expect(response.status == 200)
        #expect(response.resumedBytes == 0)
        #expect(response.attempts.count == 1)
        #expect(response.head["etag"] != partial.validator)
        #expect(isSecond)
        #expect(left == ["got"])
        // In the same exchange: 200 where a part was asked for.
        let evidence = try await Evidence.first(session) { $0.path == "/up/replaced.bin" && $0.bytes == second.count }
        #expect(evidence.status == 200)
    }

    @Test func aFileThatIsGoneTakesItsPartWithIt() async throws {
        try await put(Servers.bytes(24 << 20, 13), "/up/gone.bin")
        let folder = try Folder()
        let file = folder.file("got")
        _ = try await breakOff("/up/gone.bin", to: file)
        _ = try await session.delete(Servers.nginxURL + "/up/gone.bin").value()
        let error = try await session.download(Servers.nginxURL + "/up/gone.bin", to: file).failure()
        let status = error.response?.status
        let left = try names(folder)
        #expect(status == 404)
        #expect(error.resumableBytes == nil)
        #expect(left.isEmpty)
    }

    // MARK: Many, and slowly

    @Test(arguments: [Servers.nginxURL, Servers.secureURL]) func eightAtOnceAreAllWhole(_ server: String) async throws {
        let data = Servers.bytes(16 << 20, 17)
        let path = "/up/parallel.bin"
        try await put(data, path)
        let folder = try Folder()
        let known = try await Evidence.count(of: path)
        let session = session
        let isEach = try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<8 {
                group.addTask {
                    let file = try await session.download(server + path, to: folder.file("\(number)")).value()
                    return try Data(contentsOf: file) == data
                }
            }
            return try await group.reduce(into: [Bool]()) { $0.append($1) }
        }
        let left = try names(folder)
        let statuses = try await Evidence.next(8, of: path, after: known, session).map(\.status)
        #expect(isEach == Array(repeating: true, count: 8))
        #expect(left == ["0", "1", "2", "3", "4", "5", "6", "7"])
        #expect(statuses == Array(repeating: 200, count: 8))
    }

    /// A slow machine makes both slower, and the limited one never faster than its rate.
    @Test(arguments: [Servers.nginxURL, Servers.secureURL]) func aLimitedDownloadTakesItsTime(_ server: String) async throws {
        let data = Servers.bytes(8 << 20, 19)
        try await put(data, "/up/limited.bin")
        let folder = try Folder()
        var fastest = Duration.seconds(3_600)
        for number in 0..<3 {
            let response = try await session.download(server + "/up/limited.bin", to: folder.file("fast \(number)")).response()
            fastest = min(fastest, response.metrics.total)
        }
        let request = session.download(server + "/up/limited.bin", to: folder.file("slow")).options { $0.limits.downloadRate = 4 << 20 }
        let limited = try await request.response().metrics.total
        let isEqual = try Data(contentsOf: folder.file("slow")) == data
        // Two seconds, less what may move at once.
        #expect(limited > .milliseconds(800))
        #expect(limited > fastest * 2, "\(limited) with a limit, \(fastest) without")
        #expect(isEqual)
    }
}
