import CleanSlate
import Foundation
import HTTPTypes
import Testing

@_spi(Transport) @testable import ScopedNet

/// The meaning of heads and ends of exchanges for a file, without a session: heads and results in, steps out.
@Suite(.leavesNothing) struct DownloadSessionTests {
    private let url = "http://host.test/file"
    private let now = WallTime(secondsSince1970: 784_111_777)
    private let folder = TemporaryFolder()

    private func source(_ fields: HTTPFields = [:]) -> DownloadSession.Source {
        .init(path: folder.path + "/file", url: url, fields: fields)
    }

    /// A download whose part has a beginning of `count` bytes, of the version with the tag "v1".
    private func resumed(_ count: Int, of total: Int64? = 1000) throws -> (DownloadSession, DownloadClaim) {
        let names = try #require(PartNames(target: folder.path + "/file"))
        let target = try #require(DownloadTarget(names))
        guard case .granted(let claim) = DownloadClaims.shared.claim(target, DownloadPart(names), run: 0, isLeaving: { false }) else {
            throw NetworkError.targetInUse(names.target)
        }
        try claim.use { (part: DownloadPart) throws(NetworkError) in
            try part.open()
            var record = PartRecord(name: names.name, url: url, finalURL: url, fields: [:])
            record.tag = "\"v1\""
            record.total = total
            try part.restart(record)
            let bytes = [UInt8](repeating: 7, count: count)
            try bytes.withUnsafeBytes { raw in Result { () throws(NetworkError) in try part.write(raw) } }.get()
        }
        return (DownloadSession(source(), claim: claim, keepsPart: true), claim)
    }

    private func head(_ status: Int, _ fields: HTTPFields = [:]) -> ResponseHead { ResponseHead(status: status, headers: fields) }

    private func received(_ session: DownloadSession, _ head: ResponseHead, acceptsType: Bool = true) -> DownloadSession.HeadStep {
        session.received(head, url, now: now) { _ in acceptsType }
    }

    private var rest: ResponseHead { head(206, [.contentRange: "bytes 400-999/1000", .eTag: "\"v1\""]) }

    @Test func aWholeFileIsAResponseLikeAllOthers() {
        let session = DownloadSession(source(), claim: nil, keepsPart: false)
        guard case .pass = received(session, head(200)) else { return #expect(Bool(false)) }
        #expect(session.wholeFile(folder.path + "/file") == nil && session.asked == nil && !session.isPartHeld)
        #expect(!session.needsDisk(TransferResult(head: head(200))) { $0 == 200 })
        #expect(session.needsDisk(TransferResult(head: head(404))) { $0 == 200 })
        #expect(session.needsDisk(TransferResult(error: NetworkError(.connectionLost, phase: .receiving, message: ""))) { $0 == 200 })
    }

    @Test func aPartThatNobodyAskedForIsRefused() {
        let session = DownloadSession(source(), claim: nil, keepsPart: false)
        guard case .refuse = received(session, rest) else { return #expect(Bool(false)) }
        let end = session.finish(isComplete: true)
        guard case .conclude(let result) = session.finished(TransferResult(head: rest), end, end.run()) else { return #expect(Bool(false)) }
        #expect(result.error?.code == .badResponse && result.body.isEmpty)
        // Said once: the next exchange begins anew.
        #expect(session.finish(isComplete: true).verdict == nil)
    }

    @Test func whoAsksForARangeGetsIt() {
        for session in [DownloadSession(source([.range: "bytes=1-"]), claim: nil, keepsPart: false), DownloadSession()] {
            guard case .pass = received(session, rest) else { return #expect(Bool(false)) }
        }
    }

    @Test func theRestIsAskedForAndAppended() throws {
        let (session, claim) = try resumed(400)
        defer { _ = claim.end() }
        let fields = try #require(try session.askForRest(url, [.accept: "*/*"]))
        #expect(fields[.range] == "bytes=400-" && fields[.ifRange] == "\"v1\"" && fields[.acceptEncoding] == "identity")
        #expect(fields[.accept] == "*/*" && session.asked?.offset == 400)
        guard case .append(_, let whole) = received(session, rest) else { return #expect(Bool(false)) }
        #expect(whole.status == 200 && whole.contentLength == 1000 && session.offset == 400)
        let (progress, restarts) = session.progress(100, of: 600)
        #expect(progress.completed == 500 && progress.total == 1000 && !restarts)
        #expect(session.needsDisk(TransferResult(head: rest)) { _ in true })
        // Of another type it is no file that anybody wants.
        guard case .refuseType = received(session, rest, acceptsType: false) else { return #expect(Bool(false)) }
    }

    @Test func anotherFileBeginsFromTheStart() throws {
        let (session, claim) = try resumed(400)
        defer { _ = claim.end() }
        _ = try session.askForRest(url, [:])
        guard case .pass = received(session, head(200, [.eTag: "\"v2\""])) else { return #expect(Bool(false)) }
        #expect(session.wholeFile(folder.path + "/file") != nil)
        let (progress, restarts) = session.progress(10, of: 50)
        #expect(progress.completed == 10 && progress.total == 50 && restarts)
        #expect(!session.progress(20, of: 50).restarts)
    }

    @Test func whatDoesNotFitIsAskedForAnew() throws {
        let (session, claim) = try resumed(400)
        defer { _ = claim.end() }
        let asked = try #require(try session.askForRest(url, [:]))
        guard case .refuse = received(session, head(206, [.contentRange: "bytes 400-999/1000", .eTag: "\"v2\""])) else {
            return #expect(Bool(false))
        }
        let end = session.finish(isComplete: true)
        guard case .again = session.finished(TransferResult(head: rest), end, end.run()) else { return #expect(Bool(false)) }
        // The part is gone, and so is the question for its rest.
        let again = try #require(try session.askAnew(url, asked))
        #expect(again[.range] == nil && again[.ifRange] == nil && session.asked == nil)
        #expect(session.progress(1, of: 9).restarts)
    }

    @Test func aPartThatIsTheFileIsTheResponse() throws {
        let (session, claim) = try resumed(1000, of: nil)
        defer { _ = claim.end() }
        let fields = try #require(try session.askForRest(url, [:]))
        #expect(fields[.range] == "bytes=1000-")
        guard case .refuse = received(session, head(416, [.contentRange: "bytes */1000", .eTag: "\"v1\""])) else {
            return #expect(Bool(false))
        }
        let end = session.finish(isComplete: false)
        let failed = TransferResult(error: NetworkError(.badResponse, phase: .receiving, message: ""), head: rest)
        guard case .conclude(let result) = session.finished(failed, end, end.run()) else { return #expect(Bool(false)) }
        #expect(result.error == nil && result.head?.contentLength == 1000)
    }

    @Test func allOfItIsAskedForWhereThePartIsOfNoUse() throws {
        let (session, claim) = try resumed(400)
        defer { _ = claim.end() }
        let asked = try #require(try session.askForRest(url, [.acceptEncoding: "br"]))
        let whole = try #require(session.askForWhole(asked))
        #expect(whole[.range] == nil && whole[.ifRange] == nil && session.asked == nil)
        #expect(session.askForWhole([:]) == nil, "there is nothing to take out")
    }
}
