import FoundationEssentials
import HTTPTypes

/// The value of `Authorization` or `Proxy-Authorization`. (pure)
enum AnswerField {
    /// Makes the value of the field for one exchange.
    ///
    /// - Parameters:
    ///   - credential: the token, or the name and password, that is sent.
    ///   - digest: the nonce to use; nil for the other schemes.
    ///   - method: the method of the request, which a digest is made of.
    ///   - target: the request target, which a digest is made of.
    ///   - body: the bytes that a hash of the body is made of; nil for a body that cannot be read before it is sent.
    /// - Returns: the scheme and what follows it.
    /// - Throws: `invalidHeader` for what no field can hold, `bodyNotReplayable` where the server wants a hash of a body that is not there.
    ///   The messages show no secret.
    static func value(
        _ credential: Credential, digest: SpaceTable.Digest?, method: String, target: String, body: [UInt8]?
    ) throws(NetworkError) -> String {
        switch credential.kind {
        case .bearer(let token):
            guard !token.isEmpty else { throw NetworkError(.invalidHeader, phase: .preparing, message: "the token is empty") }
            return try HeaderField.checked("Authorization", "Bearer " + token).value
        case .basic(let user, let password):
            guard let digest else {
                var fields = HTTPFields()
                try fields.setBasicAuthorization(user: user, password: password)
                return fields[.authorization] ?? ""
            }
            let exchange = DigestAnswer.Exchange(
                method: method, target: target, clientNonce: digest.clientNonce, count: digest.count, body: body)
            return try HeaderField.checked(
                "Authorization", DigestAnswer(user: user, password: password).fieldValue(for: digest.challenge, exchange)
            ).value
        }
    }
}
