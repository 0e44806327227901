public import HTTPTypes

extension AuthenticationChallenge {
    /// A response with 401 or 407, and what is known about it: what a handler of challenges decides by.
    public struct Context: Sendable {
        /// Who asks. The realm is that of the first challenge; empty where the server names none.
        public let space: ProtectionSpace
        /// What the server, or the proxy, would take. Empty where it does not say.
        public let challenges: [AuthenticationChallenge]
        /// How many answers of this run it has refused: 0 at first. A credential that was refused is not sent again, whatever the handler answers.
        public let previousFailureCount: Int
        /// The head of the response.
        public let response: ResponseHead
        /// Of the exchange that was refused, after any redirects, without userinfo.
        public let url: String
        /// The method of the request that was refused.
        public let method: HTTPRequest.Method
    }
}

extension AuthenticationChallenge {
    /// What is to be done about a challenge.
    public struct Answer: Sendable {
        package enum Kind: Sendable {
            case use(Credential, keeps: Bool)
            case performDefault
            case deliver
            case cancel(any Error)
        }

        package let kind: Kind

        /// Sends the request again with a credential, unless it was refused in this run already, or fits no challenge: then the response is
        /// delivered.
        ///
        /// - Parameters:
        ///   - credential: the name and password, or the token, to send.
        ///   - keeps: puts it into the session's ``CredentialStore``, if there is one, once the server has taken it. Default: false.
        /// - Returns: the answer.
        public static func use(_ credential: Credential, keeps: Bool = false) -> AuthenticationChallenge.Answer {
            AuthenticationChallenge.Answer(kind: .use(credential, keeps: keeps))
        }

        /// As without a handler: the session's ``CredentialStore`` has the word.
        public static let performDefault = AuthenticationChallenge.Answer(kind: .performDefault)

        /// The response is the result as it is: `unacceptableStatus`, or a success where ``RequestOptions/validation`` accepts it. A stream and
        /// a download have no use for it and fail all the same.
        public static let deliver = AuthenticationChallenge.Answer(kind: .deliver)

        /// The request fails with `authenticationFailed`, this error as `underlying`, and the head of the response.
        public static func cancel(_ error: any Error) -> AuthenticationChallenge.Answer {
            AuthenticationChallenge.Answer(kind: .cancel(error))
        }
    }
}
