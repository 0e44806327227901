import CleanSlate
import Foundation
import HTTPTypes
import Testing

@testable import ScopedNet

/// The reading of error documents from the body of a failed response.
@Suite(.leavesNothing) struct ErrorBodyTests {
    private struct Refusal: NetworkError.Document {
        let errorText: String
        var message: String? { errorText }
    }

    private struct StrictRefusal: NetworkError.Document {
        static let mediaTypes: Set<String> = ["application/vnd.refusal"]
        let reason: String
        var message: String? { reason }
    }

    private func body(_ text: String?, of type: any NetworkError.Document.Type = NetworkError.ProblemDetails.self) -> ErrorBody {
        ErrorBody(data: text.map { Data($0.utf8) }, documentType: type)
    }

    private let problem = #"{"title":"No credit","detail":"Your balance is 30."}"#

    @Test func withoutABodyThereIsNothingToRead() {
        for body in [body(nil), body("")] {
            #expect(body.document(mimeType: "application/problem+json") == nil && body.problem(mimeType: "application/problem+json") == nil)
            #expect(body.message(mimeType: "application/problem+json") == nil && body.decoded(as: [Int].self, decoder: nil) == nil)
        }
        #expect(body(nil).count == nil)
    }

    @Test func theWholeLengthIsToldWhereTheBytesAreItsBeginning() {
        #expect(body("12345").count == 5)
        #expect(ErrorBody(data: Data("12345".utf8), totalBytes: 900).count == 900)
        #expect(ErrorBody(data: nil, totalBytes: 900).count == nil)
    }

    @Test func aProblemDocumentNeedsItsMediaType() {
        #expect(body(problem).message(mimeType: "application/problem+json") == "Your balance is 30.")
        for type in ["application/json", nil] {
            #expect(body(problem).document(mimeType: type) == nil && body(problem).problem(mimeType: type) == nil)
        }
    }

    @Test func aProblemDocumentIsFoundWhateverTheSessionExpects() {
        let body = body(problem, of: StrictRefusal.self)
        #expect(body.document(mimeType: "application/problem+json") == nil)
        #expect(body.problem(mimeType: "application/problem+json")?.title == "No credit")
    }

    @Test func aDocumentOfTheSessionIsReadByItsMediaTypes() {
        let strict = body(#"{"reason":"closed"}"#, of: StrictRefusal.self)
        #expect(strict.message(mimeType: "application/vnd.refusal") == "closed")
        #expect(strict.message(mimeType: "application/json") == nil && strict.message(mimeType: nil) == nil)
        let any = body(#"{"errorText":"closed"}"#, of: Refusal.self)
        #expect(any.message(mimeType: "text/plain") == "closed" && any.message(mimeType: nil) == "closed")
        #expect(body("<html>", of: Refusal.self).document(mimeType: nil) == nil)
    }

    @Test func theCodingOfTheSessionIsUsedForItsDocumentsOnly() {
        var body = body(#"{"error_text":"closed","title":"t"}"#, of: Refusal.self)
        #expect(body.document(mimeType: nil) == nil)
        body.coding = JSONCoding(keys: .snakeCase)
        #expect(body.message(mimeType: nil) == "closed")
        #expect(body.decoded(as: Refusal.self, decoder: nil)?.errorText == "closed")
        #expect(body.decoded(as: Refusal.self, decoder: { JSONDecoder() }) == nil)
        #expect(body.problem(mimeType: "application/problem+json")?.extensions["error_text"] == .string("closed"))
    }

    @Test func theMessageIsOneLineOfAtMost500Characters() {
        let long = String(repeating: "x", count: 501)
        #expect(body(#"{"errorText":"a\nb"}"#, of: Refusal.self).message(mimeType: nil) == #"a\xAb"#)
        #expect(body(#"{"errorText":""}"#, of: Refusal.self).message(mimeType: nil) == nil)
        #expect(body("{\"errorText\":\"\(long)\"}", of: Refusal.self).message(mimeType: nil) == long.dropLast() + "…")
        #expect(body("{\"errorText\":\"\(long.dropLast())\"}", of: Refusal.self).message(mimeType: nil) == String(long.dropLast()))
    }

    @Test func aDecoderGetsHeadAndBytes() throws {
        let head = ResponseHead(status: 409, headers: [.contentType: "text/plain"])
        let decoder = ResponseDecoder<String> { head, data in "\(head.status) \(String(decoding: data, as: UTF8.self))" }
        #expect(try body("closed").decoded(by: decoder, head: head) == "409 closed")
        #expect(throws: NetworkError.EmptyBody.self) { try body("closed").decoded(by: decoder, head: nil) }
        #expect(throws: NetworkError.EmptyBody.self) { try body(nil).decoded(by: decoder, head: head) }
    }
}

/// The choice of the sentences that a person reads.
@Suite(.leavesNothing) struct ErrorWordingTests {
    private let wording = NetworkError.Wording.english

    @Test func aStatusHasItsOwnSentence() {
        #expect(wording.description(of: .unacceptableStatus, status: 404, serverMessage: nil) == "This does not exist on the server.")
        #expect(wording.suggestion(for: .unacceptableStatus, status: 401) == "Sign in again.")
        #expect(wording.suggestion(for: .unacceptableStatus, status: 404) == "Check the path of the address.")
        #expect(wording.suggestion(for: .unacceptableStatus, status: 418) == nil)
        // The status of a response that was refused for another reason says nothing.
        #expect(wording.description(of: .decodingFailed, status: 404, serverMessage: nil) == wording.descriptions[.decodingFailed])
    }

    @Test func aCodeWithoutASentenceHasTheGeneralOne() {
        #expect(wording.description(of: .other, status: nil, serverMessage: nil) == "The request did not succeed.")
        #expect(wording.description(of: .unacceptableStatus, status: nil, serverMessage: nil) == "The request did not succeed.")
        #expect(wording.suggestion(for: .other, status: nil) == nil)
    }

    @Test func theServersWordsFollow() {
        let text = wording.description(of: .unacceptableStatus, status: 403, serverMessage: "No credit")
        #expect(text == "You do not have permission for this. The server says: No credit")
    }
}
