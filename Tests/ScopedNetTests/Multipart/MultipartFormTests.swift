import CleanSlate
import Foundation
import Glibc
import ScopedNet
import Testing

/// The form and its bytes: MP-2, MP-3, MP-4, MP-5, MP-6, MP-8, MP-11, defects 6, 7.
@Suite(.leavesNothing) struct MultipartFormTests {
    private static func bytes(_ form: MultipartForm) async throws -> Data {
        var all = Data()
        try await form.write { all.append($0) }
        return all
    }

    private static func text(_ form: MultipartForm) async throws -> String { String(decoding: try await bytes(form), as: UTF8.self) }

    // MP-3, MP-6: delimiters, header order, line ends.
    @Test func partsAreFramedInTheirOrder() async throws {
        var form = try MultipartForm(boundary: "B")
        form.add("héllo", name: "title")
        try form.add(Data("<p>".utf8), name: "page", fileName: "index.html")
        try form.add(Data([0x61]), name: "raw", contentType: "application/x-raw")
        form.add(Data("y".utf8), fields: [.contentDisposition: "attachment", .contentLanguage: "de"])
        let text = try await Self.text(form)
        #expect(
            text == "--B\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\nhéllo"
                + "\r\n--B\r\nContent-Disposition: form-data; name=\"page\"; filename=\"index.html\"\r\nContent-Type: text/html\r\n\r\n<p>"
                + "\r\n--B\r\nContent-Disposition: form-data; name=\"raw\"\r\nContent-Type: application/x-raw\r\n\r\na"
                + "\r\n--B\r\nContent-Disposition: attachment\r\nContent-Language: de\r\n\r\ny\r\n--B--\r\n")
        #expect(form.contentLength == Int64(text.utf8.count))
        #expect(form.contentType == "multipart/form-data; boundary=B")
    }

    // MP-6
    @Test func boundariesAreRandomAndCanBeChosen() throws {
        let boundary = MultipartForm().boundary.text
        #expect(boundary.wholeMatch(of: /Boundary\+[0-9A-F]{16}/) != nil)
        #expect(MultipartForm().boundary != MultipartForm().boundary)
        let quoted = try MultipartForm(boundary: "a b:c")
        #expect(quoted.contentType == "multipart/form-data; boundary=\"a b:c\"")
        let longest = try MultipartForm(boundary: String(repeating: "x", count: 70))
        #expect(longest.isEmpty)
    }

    @Test func aRandomBoundaryIsNotLookedForAndAChosenOneIsWhereTheContentIsHere() throws {
        #expect(!MultipartBoundary.random().isChosen)
        var form = try MultipartForm(boundary: "B")
        try form.add(PartPieces(["--B"]), length: 3, name: "later")
        #expect(!form.holdsItsBoundary)
        form.add("no --b", name: "here")
        #expect(!form.holdsItsBoundary)
        form.add("a --B", name: "here")
        #expect(form.holdsItsBoundary)
    }

    /// However content is cut.
    @Test func aBoundaryIsFoundAcrossPieces() throws {
        let boundary = try MultipartBoundary("frontier")
        let content = Data("-----frontie--frontier--".utf8)
        for size in 1...content.count {
            var search = BoundarySearch(boundary)
            var found: [Bool] = []
            for start in stride(from: 0, to: content.count, by: size) {
                found.append(search.finds(in: content[start..<min(start + size, content.count)]))
            }
            #expect(found.contains(true), "in pieces of \(size)")
            // Its last byte is the twenty-second.
            #expect(found.firstIndex(of: true) == 21 / size, "in pieces of \(size)")
        }
        var search = BoundarySearch(boundary)
        let almost = ["--front", "ie", "--frontie", "R"].map { search.finds(in: Data($0.utf8)) }
        #expect(almost == [false, false, false, false])
    }

    @Test func aBodyIsSentInOnePieceUpToTheLimit() throws {
        var form = try MultipartForm(boundary: "B")
        form.add("v", name: "n")
        let length = try #require(form.contentLength)
        #expect(form.inMemory(upTo: length)?.count == Int(length))
        #expect(form.inMemory(upTo: length - 1) == nil)
    }

    @Test(arguments: ["", " ", "a ", "a\r\nX: y", "é", "a\"b", "a;b", String(repeating: "x", count: 71)])
    func whatIsNoBoundaryIsRefused(_ boundary: String) {
        let error = #expect(throws: NetworkError.self) { try MultipartForm(boundary: boundary) }
        #expect(error?.code == .invalidOption)
    }

    // Defect 6: no name can end its quotes or its line.
    @Test(arguments: [
        ("a\"; filename=\"x", "a%22; filename=%22x"), ("a\r\nX-Injected: 1\r\n\r\nbody", "a%0D%0AX-Injected: 1%0D%0A%0D%0Abody"),
        ("a\\", "a%5C"), ("a\u{0}\u{7F}\u{85}\u{2028}", "a%00%7F%C2%85%E2%80%A8"), ("é日本👩‍👩‍👧", "é日本👩‍👩‍👧"), ("100% \t", "100% %09"),
        ("\r\u{301}\n", "%0D\u{301}%0A"), ("", ""),
    ])
    func noNameInjectsAnything(_ name: String, _ escaped: String) async throws {
        var form = try MultipartForm(boundary: "B")
        form.add("v", name: name)
        try form.add(Data("w".utf8), name: "f", fileName: name, contentType: "a/b")
        let text = try await Self.text(form)
        #expect(
            text == "--B\r\nContent-Disposition: form-data; name=\"\(escaped)\"\r\n\r\nv"
                + "\r\n--B\r\nContent-Disposition: form-data; name=\"f\"; filename=\"\(escaped)\"\r\nContent-Type: a/b\r\n\r\nw\r\n--B--\r\n"
        )
    }

    // Defect 6, for types: refused, and nothing is added.
    @Test(arguments: ["text/plain\r\nX: y", "a\nb", "a\u{0}"])
    func noTypeInjectsAnything(_ type: String) {
        var form = MultipartForm()
        do {
            try form.add(Data(), name: "a", contentType: type)
            Issue.record("accepted")
        } catch { #expect(error.code == .invalidHeader && form.isEmpty) }
    }

    // MP-2
    @Test func parametersArePartsLikeTheirPairs() async throws {
        var form = try MultipartForm(boundary: "B")
        try form.add([
            "n": ParameterValue.null, "l": [1, true] as ParameterValue, "o": ["k & k": 2.0], "d": Data([0xFF]), "e": [] as [String],
        ])
        let parts = try await Self.bytes(form).split(separator: Data("--B".utf8))
        let fields = ["d", "l[]", "l[]", "n", "o[k & k]"].map { "\r\nContent-Disposition: form-data; name=\"\($0)\"\r\n\r\n" }
        let values = [Data([0xFF]), Data("1".utf8), Data("1".utf8), Data(), Data("2".utf8)]
        let expected = zip(fields, values).map { field, value in Data(field.utf8) + value + Data("\r\n".utf8) }
        #expect(Array(parts.prefix(5)) == expected)
    }

    // MP-2, REQ-15: refused as in a query, and nothing is added.
    @Test func aNumberThatIsNoneIsRefused() {
        var form = MultipartForm()
        do {
            try form.add(["a": 1, "b": Double.nan])
            Issue.record("accepted")
        } catch { #expect(error.code == .invalidParameters && form.isEmpty) }
    }

    // MP-3, MP-8
    @Test func filesAreReadWhileTheyAreSent() async throws {
        let folder = try PartFolder()
        let content = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        let file = try folder.file("photo.JPG", content)
        var form = MultipartForm()
        form.add("x", name: "a")
        try form.add(file: file, name: "photo")
        try form.add(file: try folder.file("empty", Data()), name: "none", fileName: "n\"1", contentType: "a/b")
        let body = try await Self.bytes(form)
        #expect(form.contentLength == Int64(body.count))
        let start = try #require(body.firstRange(of: Data("filename=\"photo.JPG\"\r\nContent-Type: image/jpeg\r\n\r\n".utf8)))
        #expect(body[start.upperBound...].prefix(content.count) == content)
        #expect(body.firstRange(of: Data("filename=\"n%221\"\r\nContent-Type: a/b\r\n\r\n\r\n--".utf8)) != nil)
    }

    // MP-4: nothing is added on failure.
    @Test func whatIsNoReadableFileIsRefusedAtOnce() throws {
        let folder = try PartFolder()
        let fifo = folder.url.appending(path: "fifo")
        #expect(mkfifo(fifo.path, 0o600) == 0)
        let urls = [
            folder.url.appending(path: "missing"), folder.url, fifo, try #require(URL(string: "https://example.test/a")),
            try #require(URL(string: "file:///dev/null")), try #require(URL(string: "file:///tmp/a%00b")),
        ]
        for url in urls {
            var form = MultipartForm()
            do {
                try form.add(file: url, name: "a")
                Issue.record("\(url) was accepted")
            } catch { #expect(error.code == .fileUnreadable && form.isEmpty, "\(url)") }
        }
    }

    // MP-4: the size is taken once.
    @Test(arguments: [0, 2, 4])
    func aFileThatChangesIsAnError(_ size: Int) async throws {
        let folder = try PartFolder()
        let file = try folder.file("a.txt", Data("abc".utf8))
        var form = MultipartForm()
        try form.add(file: file, name: "a")
        try Data(repeating: 0, count: size).write(to: file)
        let changed = form
        let error = await #expect(throws: MultipartForm.BodyFailure.self) { try await Self.bytes(changed) }
        #expect(error?.description.contains("of the 3 bytes declared") == (size < 3))
        try FileManager.default.removeItem(at: file)
        await #expect(throws: MultipartForm.BodyFailure.self) { try await Self.bytes(changed) }
    }

    // MP-3
    @Test func sequencesHaveTheirDeclaredLength() async throws {
        var form = try MultipartForm(boundary: "B")
        try form.add(PartPieces(["ab", "", "cde"]), length: 5, name: "s", fileName: "s.bin")
        let text = try await Self.text(form)
        #expect(text.contains("\r\n\r\nabcde\r\n--B--") && form.contentLength == Int64(text.utf8.count))
        try form.add(PartPieces([]), length: nil, name: "t")
        #expect(form.contentLength == nil)
        do {
            try form.add(PartPieces([]), length: -1, name: "u")
            Issue.record("accepted")
        } catch { #expect(error.code == .invalidOption) }
    }

    // Defect 7
    @Test(arguments: [0, 4, 6, 100] as [Int64])
    func aSequenceOfAnotherLengthIsAnError(_ length: Int64) async throws {
        var form = MultipartForm()
        try form.add(PartPieces(["abc", "de"]), length: length, name: "s")
        let declared = form
        let error = await #expect(throws: MultipartForm.BodyFailure.self) { try await Self.bytes(declared) }
        #expect(error?.description.contains(length < 5 ? "longer than the \(length) bytes" : "after 5 of the \(length) bytes") == true)
    }

    // Defect 7: a part's error is not swallowed.
    @Test func anErrorOfASequenceIsPassedOn() async throws {
        var form = MultipartForm()
        try form.add(PartPieces(["abc"], failsAtEnd: true), length: 5, name: "s")
        let failing = form
        await #expect(throws: PartPieces.Interrupted.self) { try await Self.bytes(failing) }
    }

    // Defect 6: the boundary is checked against the content where chance does not see to it.
    @Test func aChosenBoundaryInTheContentIsFound() async throws {
        var form = try MultipartForm(boundary: "BOUND")
        form.add("a--BOUNDb", name: "a")
        #expect(RequestBody.multipart(form).failure?.code == .invalidParameters)
        for pieces in [
            ["--BOUND"], ["-", "-", "BO", "U", "N", "D--"], ["x--BOUN", "D"], ["---", "-BOUND"],
            [String(repeating: "-", count: 99) + "BOUND"],
        ] {
            var form = try MultipartForm(boundary: "BOUND")
            try form.add(PartPieces(pieces), length: nil, name: "a")
            let streamed = form
            await #expect(throws: MultipartForm.BodyFailure.self, "\(pieces)") { try await Self.bytes(streamed) }
        }
        for pieces in [["--BOUN", "E"], ["-BOUND"], ["--", "", "-BOUN"], ["--BOUN--", "D"]] {
            var form = try MultipartForm(boundary: "BOUND")
            try form.add(PartPieces(pieces), length: nil, name: "a")
            let text = try await Self.text(form)
            #expect(text.contains(pieces.joined()))
        }
    }

    // MP-5
    @Test(arguments: [
        ("a.jpg", "image/jpeg"), ("a.tar.GZ", "application/gzip"), ("a.cer", "application/x-x509-ca-cert"),
        ("a.unknown", "application/octet-stream"),
        ("a", "application/octet-stream"), (".png", "application/octet-stream"), ("a.", "application/octet-stream"),
        ("", "application/octet-stream"),
    ])
    func typesFollowTheExtension(_ name: String, _ type: String) { #expect(MediaType.forFile(named: name) == type) }

    // MP-11
    @Test func theBodyCanBeWrittenToAFile() async throws {
        let folder = try PartFolder()
        let target = try folder.file("body", Data("old".utf8))
        var form = MultipartForm()
        try form.add(file: try folder.file("a.txt", Data(repeating: 7, count: 200_000)), name: "a")
        let body = try await form.write(to: target)
        let written = try Data(contentsOf: target)
        let expected = try await Self.bytes(form)
        #expect(written == expected && body.contentType == form.contentType && body.isReplayable && body.isMultipart)
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.url.path).sorted()
        #expect(names == ["a.txt", "body"])
    }

    // MP-11: a failure leaves the target as it was.
    @Test func aBodyThatFailsReplacesNothing() async throws {
        let folder = try PartFolder()
        let target = try folder.file("body", Data("old".utf8))
        var form = MultipartForm()
        try form.add(PartPieces([String(repeating: "x", count: 200_000)]), length: 5, name: "a")
        let wrong = form
        let error = await #expect(throws: NetworkError.self) { try await wrong.write(to: target) }
        #expect(error?.code == .bodyStreamFailed)
        let missing = await #expect(throws: NetworkError.self) {
            try await MultipartForm().write(to: folder.url.appending(path: "none/body"))
        }
        #expect(missing?.code == .fileUnwritable)
        let content = try Data(contentsOf: target)
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.url.path)
        #expect(content == Data("old".utf8) && names == ["body"])
    }
}
