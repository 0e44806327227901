import CleanSlate
import Foundation
import HTTPTypes
import ScopedNet
import Testing

/// What becomes of httpbin's documents: values, or errors that still have them.
@Suite(.leavesNothing, .serialized, .enabled(if: Servers.httpbin.http != nil, Servers.whyNoHTTPBin), .timeLimit(.minutes(2)))
struct HTTPBinResponseTests {
    private struct Document: Decodable, Sendable {
        struct Show: Decodable, Sendable {
            struct Slide: Decodable, Sendable, Equatable {
                var title: String
                var type: String
                var items: [String]?
            }
            var author: String
            var slides: [Slide]
        }
        var slideshow: Show
    }

    private struct Problem: Decodable, Sendable {
        var message: String
        var accept: [String]
    }

    private let session = Servers.session()
    private func url(_ path: String) -> String { Servers.httpbinURL + path }

    // MARK: Values

    @Test func aDocumentBecomesAValue() async throws {
        let show = try await session.get(url("/json"), as: Document.self).value().slideshow
        let titles = show.slides.map(\.title)
        #expect(show.author == "Yours Truly")
        #expect(titles == ["Wake up to WonderWidgets!", "Overview"])
        let items = show.slides[1].items
        #expect(items == ["Why <em>WonderWidgets</em> are great", "Who <em>buys</em> WonderWidgets"])
    }

    @Test func aDocumentWithoutATypeIsHeldToItsShape() async throws {
        let shape: JSONShape = ["slideshow": ["slides": .array(of: ["title": .string, "items": .optional(.array(of: .string))])]]
        let document = try await session.request(url("/json"), decoder: .json(shape)).value()
        let author = document["slideshow"]?["author"]
        #expect(author == "Yours Truly")
        let other: JSONShape = ["slideshow": ["date": .integer]]
        let error = try await session.request(url("/json"), decoder: .json(other)).failure()
        let reason = error.underlying.map { "\($0)" } ?? ""
        #expect(error.code == .decodingFailed)
        #expect(reason.contains("$.slideshow.date"), "\(reason)")
    }

    @Test func textIsReadInTheEncodingThatIsNamed() async throws {
        let response = try await session.request(url("/encoding/utf8"), decoder: .text).response()
        let charset: String? = response.head.contentType?["charset"]
        #expect(charset == "utf-8")
        let text = response.value
        #expect(text.contains("∮ E⋅da = Q,  n → ∞, ∑ f(i) = ∏ g(i)"))
        let isWhole = Data(response.value.utf8) == response.body
        #expect(isWhole)
    }

    /// The log-in page of a network instead of the document, say.
    @Test func aDocumentOfAnotherTypeIsNoValue() async throws {
        let error = try await session.get(url("/xml"), as: Document.self).failure()
        let text = try error.decoded(by: .text)
        let status = error.response?.status
        #expect(error.code == .unacceptableContentType)
        #expect(status == 200)
        #expect(text.hasPrefix("<?xml"))
        let accepted = try await session.request(url("/xml"), decoder: .text).options { $0.validation.contentTypes = .only(["*/xml"]) }
            .value()
        #expect(accepted == text)
    }

    /// Of two types the last one counts (RFC 9110 section 8.3), unless nobody minds.
    @Test func aTypeThatIsSentTwiceIsTheLast() async throws {
        let path = url("/response-headers?Content-Type=text/plain&X-Own=1")
        let error = try await session.get(path, as: JSONValue.self).failure()
        #expect(error.code == .unacceptableContentType)
        let lenient = try await session.get(path, as: JSONValue.self).options { $0.validation.contentTypes = .any }.value()
        let own = lenient["X-Own"]
        #expect(own == "1")
    }

    // MARK: Errors

    @Test func aTeapotSaysSo() async throws {
        let error = try await session.request(url("/status/418")).failure()
        let status = error.response?.status
        let word = try error.decoded(by: .text)
        #expect(error.code == .unacceptableStatus)
        #expect(status == 418)
        #expect(word.contains("-=[ teapot ]=-"))
        let wanted = try await session.request(url("/status/418"), decoder: .text).options { $0.validation = .codes([418]) }.response()
        #expect(wanted.status == 418)
        #expect(wanted.value == word)
        #expect(wanted.head["x-more-info"] == "http://tools.ietf.org/html/rfc2324")
        let ordinary = try await session.request(url("/status/200")).options { $0.validation = .codes([418]) }.failure()
        #expect(ordinary.code == .unacceptableStatus)
    }

    @Test func anErrorDocumentIsReadFromTheError() async throws {
        let error = try await session.get(url("/status/406"), as: Document.self).failure()
        let problem = try #require(error.decoded(as: Problem.self))
        #expect(problem.message == "Client did not request a supported media type.")
        #expect(problem.accept.contains("image/png"))
    }

    // MARK: Parts and files

    @Test(arguments: [("bytes=100-199", 100..<200), ("bytes=1000-", 1000..<1024), ("bytes=-24", 1000..<1024)])
    func aRangeIsThatPart(_ range: String, _ part: Range<Int>) async throws {
        let response = try await session.request(url("/range/1024"), headers: [.range: range]).response()
        let letters = Data(part.map { UInt8(ascii: "a") + UInt8($0 % 26) })
        #expect(response.status == 206)
        #expect(response.head["content-range"] == "bytes \(part.lowerBound)-\(part.upperBound - 1)/1024")
        #expect(response.body == letters)
    }

    @Test func aRangeBeyondTheEndIsRefused() async throws {
        let error = try await session.request(url("/range/1024"), headers: [.range: "bytes=2000-"]).failure()
        let (status, range) = (error.response?.status, error.response?["content-range"])
        #expect(status == 416)
        #expect(range == "bytes */1024")
    }

    /// In chunks, so nobody knows how long it is until it is over.
    @Test func aBodyOfUnknownLengthFillsAFile() async throws {
        let folder = try Folder()
        let request = session.download(url("/stream-bytes/100000?chunk_size=997"), to: folder.file("bytes"))
        let progress = Gathered<TransferProgress>()
        _ = request.onDownloadProgress { progress.add($0) }
        let response = try await request.response()
        let written = try Data(contentsOf: folder.file("bytes")).count
        #expect(response.head.contentLength == nil)
        #expect(response.metrics.bodyBytesReceived == 100_000)
        #expect(written == 100_000)
        await session.agent.waitUntilIdle()
        let last = progress.all.last
        #expect(last?.completed == 100_000)
    }

    @Test func aPageOfAnotherTypeReplacesNoFile() async throws {
        let folder = try Folder()
        let file = folder.file("picture")
        let session = session.with { $0.options.validation.contentTypes = .only(["image/*"]) }
        _ = try await session.download(url("/image/png"), to: file).value()
        let picture = try Data(contentsOf: file)
        #expect(picture.starts(with: [0x89, 0x50, 0x4E, 0x47]))
        let error = try await session.download(url("/html"), to: file).failure()
        let after = try Data(contentsOf: file)
        #expect(error.code == .unacceptableContentType)
        #expect(after == picture)
    }
}
