import CleanSlate
import Foundation
import Synchronization
import Testing

@_spi(Transport) @testable import ScopedNet

@Suite(.leavesNothing)
struct ResponseAssemblerTests {
    private struct Refused: Error {}
    private struct Story: Decodable, Sendable { let id: Int }

    private func assembler(
        _ decoder: AnyDecoder = ResponseDecoder.data.any, _ options: RequestOptions = .init()
    ) throws -> ResponseAssembler {
        ResponseAssembler(
            template: RequestTemplate(
                url: try RequestURL("http://host.test/"), method: .get, fields: [:], headers: try HeaderBlock([:]), body: nil,
                options: options, transferOptions: TransferOptions(), destination: nil, errorBodyBytes: 5),
            decoder: decoder)
    }

    private func parts(_ body: Data, _ head: ResponseHead = ResponseHead(status: 200)) -> ResponseParts {
        ResponseParts(head: head, body: body, attempts: AttemptList(), url: "http://host.test/")
    }

    private func options(check: @escaping @Sendable (ResponseHead, Data) throws -> Void) -> RequestOptions {
        var options = RequestOptions()
        options.validation.check = check
        return options
    }

    private func error(_ body: () throws(NetworkError) -> AnyResponse) -> NetworkError? {
        do throws(NetworkError) { _ = try body() } catch { return error }
        return nil
    }

    private let gzip = ResponseHead(status: 200, headers: [.contentEncoding: "gzip"])

    @Test("a type is asked for only where somebody wishes one")
    func types() throws {
        let html = ResponseHead(status: 200, headers: [.contentType: "text/html"])
        #expect(try assembler().acceptsType(html, isEmpty: false))
        let json = try assembler(ResponseDecoder<Story>.json().any)
        #expect(!json.acceptsType(html, isEmpty: false))
        #expect(json.acceptsType(ResponseHead(status: 200, headers: [.contentType: "application/problem+json"]), isEmpty: false))
    }

    @Test("only what costs nothing may be made on the network's thread")
    func immediate() throws {
        let plain = ResponseHead(status: 200)
        let body = Data("x".utf8)
        #expect(try assembler().isImmediate(plain, body))
        #expect(try !assembler().isImmediate(gzip, body))
        #expect(try assembler().isImmediate(gzip, Data()))
        #expect(try !assembler(ResponseDecoder<Story>.json().any).isImmediate(plain, body))
        #expect(try !assembler(ResponseDecoder.data.any, options { _, _ in }).isImmediate(plain, body))
    }

    @Test("a coding is undone within the limits, and what cannot be undone is said")
    func codings() throws {
        let coded = Data(CodedBodies.gzip(CodedBodies.text))
        #expect(try Array(assembler().decodedBody(coded, gzip)) == Array(CodedBodies.text))
        #expect(try assembler().decodedBody(coded, ResponseHead(status: 200)) == coded)
        var small = RequestOptions()
        small.limits.bodyBytes = CodedBodies.text.count - 1
        for (body, options, code) in [
            (coded.dropLast(9), RequestOptions(), NetworkError.Code.contentDecodingFailed), (coded, small, .decodingBomb),
        ] {
            let assembler = try assembler(ResponseDecoder.data.any, options)
            do throws(NetworkError) {
                _ = try assembler.decodedBody(Data(body), gzip)
                Issue.record("decoded")
            } catch { #expect(error.code == code) }
        }
    }

    @Test("the program's check is asked once, before the decoder, and not by a run that nobody wants")
    func checks() throws {
        let asked = Mutex<[Data]>([])
        let checking = options { _, body in
            asked.withLock { $0.append(body) }
            if body.count > 3 { throw Refused() }
        }
        let json = try assembler(ResponseDecoder<Story>.json().any, checking)
        let refused = error { () throws(NetworkError) in try json.assemble(parts(Data("no JSON".utf8)), isChecked: false) { true } }
        #expect(refused?.code == .unacceptableResponse && refused?.underlying is Refused)
        #expect(refused?.body == Data("no JS".utf8), "no more than an error keeps")
        // Taken by the check, refused by the decoder.
        let broken = error { () throws(NetworkError) in try json.assemble(parts(Data("{".utf8)), isChecked: false) { true } }
        #expect(broken?.code == .decodingFailed)
        #expect(asked.withLock { $0.map(\.count) } == [7, 1])
        _ = error { () throws(NetworkError) in try json.assemble(parts(Data("{}".utf8)), isChecked: true) { true } }
        _ = error { () throws(NetworkError) in try json.assemble(parts(Data("{}".utf8)), isChecked: false) { false } }
        #expect(asked.withLock { $0.count } == 2)
    }

    @Test("an error of the library's own kind that the check throws is the run's")
    func ownErrors() throws {
        let mine = NetworkError(.unacceptableStatus, phase: .decoding, message: "a teapot")
        let assembler = try assembler(ResponseDecoder.data.any, options { _, _ in throw mine })
        let refusal = assembler.programsRefusal(ResponseHead(status: 418), Data("abc".utf8)) { true }
        #expect(refusal?.code == .unacceptableStatus && refusal?.message == "a teapot" && refusal?.body == Data("abc".utf8))
    }

    @Test("the value comes with what belongs to the response")
    func values() throws {
        let json = try assembler(ResponseDecoder<Story>.json().any)
        let response = try json.assemble(parts(Data(#"{"id": 7}"#.utf8)), isChecked: false) { true }
        #expect((response.anyValue as? Story)?.id == 7)
        #expect(response.parts.body.count == 9 && response.parts.head.status == 200)
        let failure = error { () throws(NetworkError) in try json.assemble(parts(Data(#"{"id": "7"}"#.utf8)), isChecked: false) { true } }
        #expect(failure?.code == .decodingFailed && failure?.body == Data(#"{"id""#.utf8) && failure?.bodyBytes == 11)
    }
}
