import CleanSlate
import HTTPTypes
import ScopedNet
import Testing

@testable import ScopedNetTool

/// After a 401 nobody who has given credentials is told to give some.
@Suite(.leavesNothing) struct CredentialAdviceTests {
    private func advice(_ proof: Advice.Proof, _ challenges: [String] = []) -> String {
        var fields = HTTPFields()
        for challenge in challenges { fields.append(HTTPField(name: .wwwAuthenticate, value: challenge)) }
        var error = NetworkError(.unacceptableStatus, phase: .receiving, message: "")
        error.response = ResponseHead(status: 401, headers: fields)
        return Advice.about(error, proof) ?? ""
    }

    @Test func whoHasGivenNoneIsToldHow() {
        let text = advice(.nothing, ["Basic realm=\"a\""])
        #expect(text.contains("give credentials"))
    }

    @Test(
        arguments: [
            (.basic, "user and password given"), (.whenAsked, "user and password given"), (.token, "token given"), (.netrc, "netrc file"),
            (.field, "Authorization field given"),
        ] as [(Advice.Proof, String)])
    func whatWasRefusedIsNamed(_ proof: Advice.Proof, _ words: String) {
        let text = advice(proof)
        #expect(text.hasPrefix("the server refused") && text.contains(words) && !text.contains("give credentials"), "\(text)")
        #expect(!text.contains("\n") && !text.hasSuffix("."))
    }

    @Test func whoSentBasicWhereDigestIsAskedForIsToldSo() {
        let digest = "Digest realm=\"a\", nonce=\"b\""
        for challenges in [[digest], ["Basic realm=\"a\"", digest], ["Basic realm=\"a\", \(digest)"]] {
            let text = advice(.basic, challenges)
            #expect(text.contains("Digest") && text.contains("--anyauth -u"), "\(text)")
        }
        let asked = advice(.whenAsked, [digest])
        #expect(asked.contains("refused the user and password") && !asked.contains("--anyauth"), "\(asked)")
    }

    @Test(
        arguments: [(.basic, "Bearer"), (.whenAsked, "Negotiate"), (.token, "Basic realm=\"a\", Digest realm=\"a\"")]
            as [(Advice.Proof, String)])
    func anotherSchemeIsNamed(_ proof: Advice.Proof, _ challenge: String) {
        let text = advice(proof, [challenge])
        let first = challenge.lowercased().prefix { $0 != " " }
        #expect(text.contains("another scheme") && text.contains(first), "\(text)")
    }

    @Test(arguments: [(.basic, "Basic realm=\"a\""), (.token, "Bearer error=\"invalid_token\"")] as [(Advice.Proof, String)])
    func theSchemeThatWasSentIsRefused(_ proof: Advice.Proof, _ challenge: String) {
        let text = advice(proof, [challenge])
        #expect(text.hasPrefix("the server refused the"), "\(text)")
    }

    @Test func otherStatusesDoNotCare() {
        let texts = [Advice.about(ResponseHead(status: 404), .basic), Advice.about(ResponseHead(status: 418), .token)]
        #expect(texts == [Advice.about(status: 404), nil])
    }
}
