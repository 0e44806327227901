import CleanSlate
import Foundation
import HTTPTypes
import ScopedNet
import Testing

/// A form of some MiB as nginx stores it: byte for byte what RFC 7578 has it be.
@Suite(.leavesNothing, .serialized, .enabled(if: Servers.nginx.http != nil, Servers.whyNoNginx), .timeLimit(.minutes(2)))
struct NginxMultipartTests {
    /// From memory, from a file, and from a sequence that is pulled.
    @Test(arguments: [Servers.nginxURL, Servers.secureURL]) func aLargeFormArrivesByteForByte(_ server: String) async throws {
        let session = Servers.session()
        let folder = try Folder()
        let parts = [3, 5, 7].map { Servers.bytes(2 << 20, $0) }
        try parts[1].write(to: folder.file("large.bin"))
        let pulled = parts[2]
        let pieces = AsyncStream<Data> { continuation in
            for start in stride(from: 0, to: pulled.count, by: 100_000) {
                continuation.yield(pulled[start..<min(start + 100_000, pulled.count)])
            }
            continuation.finish()
        }
        var form = try MultipartForm(boundary: "between-the-parts")
        form.add("in front", name: "note")
        try form.add(parts[0], name: "memory", contentType: "image/x-own")
        try form.add(file: folder.file("large.bin"), name: "file")
        try form.add(pieces, length: Int64(pulled.count), name: "pulled", fileName: "pulled.bin")
        let length = try #require(form.contentLength)
        let progress = Gathered<TransferProgress>()

        let request = session.put(server + "/up/form", body: .multipart(form)).onUploadProgress { progress.add($0) }
        let response = try await request.response()
        await session.agent.waitUntilIdle()
        #expect([201, 204].contains(response.status))
        let last = progress.all.last
        #expect(last == TransferProgress(completed: length, total: length))

        var expected = Data("--between-the-parts\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\nin front".utf8)
        let heads = [
            "name=\"memory\"\r\nContent-Type: image/x-own",
            "name=\"file\"; filename=\"large.bin\"\r\nContent-Type: application/octet-stream",
            "name=\"pulled\"; filename=\"pulled.bin\"\r\nContent-Type: application/octet-stream",
        ]
        for (head, part) in zip(heads, parts) {
            expected += Data("\r\n--between-the-parts\r\nContent-Disposition: form-data; \(head)\r\n\r\n".utf8) + part
        }
        expected += Data("\r\n--between-the-parts--\r\n".utf8)
        let stored = try Servers.file("up/form")
        let isEqual = stored == expected
        #expect(Int64(stored.count) == length)
        #expect(isEqual)
        await session.shutdown()
    }
}
