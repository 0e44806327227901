import FoundationEssentials
public import HTTPTypes

extension HTTPFields {
    /// Sends name and password with the request, before anybody asked for them: `Authorization: Basic` (RFC 7617), in UTF-8. It replaces what
    /// was there. The password can be read by whoever reads the request, so use it with https; redirects to another origin drop it.
    ///
    /// - Throws: ``NetworkError`` with code `invalidHeader` for a user's name with a colon, which would end it, and for control characters in
    ///   either (RFC 7617 section 2). The message shows neither.
    public mutating func setBasicAuthorization(user: String, password: String) throws(NetworkError) {
        guard !user.utf8.contains(UInt8(ascii: ":")) else { throw .credentials("the user's name holds a colon") }
        for text in [user, password] where text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) {
            throw .credentials("name or password hold a control character")
        }
        self[.authorization] = "Basic " + Data("\(user):\(password)".utf8).base64EncodedString()
    }

    /// Takes `Authorization` out again, whatever its scheme.
    public mutating func clearAuthorization() { self[.authorization] = nil }
}

extension NetworkError {
    fileprivate static func credentials(_ message: String) -> NetworkError {
        NetworkError(.invalidHeader, phase: .preparing, message: message + " (RFC 7617 section 2)")
    }
}
