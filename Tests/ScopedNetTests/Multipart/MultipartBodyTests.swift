import CleanSlate
import Foundation
import Glibc
import HTTPTypes
import ScopedNet
import Testing

/// The form as a request's body: MP-1, MP-7, MP-8, MP-10.
@Suite(.leavesNothing) struct MultipartBodyTests {
    /// Takes the body as the transport does, a buffer at a time.
    private static func read(_ body: RequestBody, buffer size: Int) async throws -> Data {
        guard case .stream(let source) = body.content else { throw CancellationError() }
        let stream = try source.open()
        let (ready, wake) = AsyncStream.makeStream(of: Void.self)
        stream.begin { wake.yield() }
        var all = Data()
        var buffer = [UInt8](repeating: 0, count: size)
        var waits = ready.makeAsyncIterator()
        while true {
            switch buffer.withUnsafeMutableBytes({ stream.take(into: $0) }) {
            case .bytes(let count): all.append(contentsOf: buffer[..<count])
            case .end: return all
            case .failed(let error): throw error
            case .notYet, .notEnded: _ = await waits.next()
            }
        }
    }

    private static func form(_ pieces: [String] = ["x"], isReplayable: Bool) throws -> MultipartForm {
        var form = MultipartForm()
        form.add("1", name: "first")
        try form.add(PartPieces(pieces), length: Int64(pieces.joined().utf8.count), name: "second", isReplayable: isReplayable)
        return form
    }

    // MP-7
    @Test func aFormWithoutPartsIsAnEmptyForm() {
        let body = RequestBody.multipart(MultipartForm())
        #expect(body.contentType == "application/x-www-form-urlencoded" && body.length == 0 && !body.isMultipart)
    }

    // MP-7, S0-3
    @Test func smallFormsAreOnePieceAndOthersAreStreamed() throws {
        var form = MultipartForm()
        form.add("a", name: "a")
        let small = RequestBody.multipart(form)
        guard case .data(let data) = small.content else { throw CancellationError() }
        #expect(Int64(data.count) == form.contentLength && small.contentType == form.contentType && small.isMultipart && !small.isLarge)
        try form.add(Data(count: 1 << 20), name: "b")
        let large = RequestBody.multipart(form)
        guard case .stream = large.content else { throw CancellationError() }
        #expect(large.length == form.contentLength && large.isReplayable && large.contentType == form.contentType)
    }

    // MP-1, YTK-4: whatever its case.
    @Test(arguments: [("GET", false), ("get", false), ("HEAD", false), ("Head", false), ("POST", true), ("PUT", true), ("DELETE", true)])
    func aMethodWithoutABodyIsRefused(_ name: String, _ isAllowed: Bool) throws {
        var form = MultipartForm()
        form.add("a", name: "a")
        let body = RequestBody.multipart(form)
        let method = try #require(HTTPRequest.Method(rawValue: name))
        do {
            try body.check(for: method)
            #expect(isAllowed)
        } catch { #expect(!isAllowed && error.code == .invalidOption) }
    }

    // MP-8: any size will do, also one below that of a delimiter.
    @Test(arguments: [1, 7, 25, 64 << 10])
    func anyBufferSizeWorks(_ size: Int) async throws {
        let form = try Self.form(["ab", "cde"], isReplayable: true)
        var expected = Data()
        try await form.write { expected.append($0) }
        let read = try await Self.read(.multipart(form), buffer: size)
        #expect(read == expected && Int64(read.count) == form.contentLength)
    }

    // MP-10: with the same boundary and the same bytes.
    @Test func aReplayableFormIsSentAgain() async throws {
        let body = RequestBody.multipart(try Self.form(isReplayable: true))
        let first = try await Self.read(body, buffer: 100)
        let second = try await Self.read(body, buffer: 100)
        #expect(body.isReplayable && first == second && !first.isEmpty)
    }

    // MP-10, defect 7: a sequence that has been read is not read again from where it ended.
    @Test func aSequenceThatCanBeReadOnceSaysSo() async throws {
        let body = RequestBody.multipart(try Self.form(isReplayable: false))
        _ = try await Self.read(body, buffer: 100)
        let error = await #expect(throws: NetworkError.self) { try await Self.read(body, buffer: 100) }
        #expect(!body.isReplayable && error?.code == .bodyNotReplayable)
    }
}
