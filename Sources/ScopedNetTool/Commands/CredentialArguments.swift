#if CommandLineTool
import ArgumentParser
import HTTPTypes
import ScopedNet

/// Who asks: the one place where credentials get into requests.
struct CredentialArguments: ParsableArguments, Sendable {
    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("Basic credentials, sent with the first request and not to other origins.", valueName: "user:password"))
    var user: String?

    @Option(help: ArgumentHelp("A bearer token (RFC 6750), sent likewise.", valueName: "token"))
    var bearer: String?

    func validate() throws {
        if user != nil, bearer != nil { throw ValidationError("Give either --user or --bearer.") }
        if let user, !user.utf8.contains(UInt8(ascii: ":")) {
            throw ValidationError("--user takes name and password, as in -u ann:secret.")
        }
        var fields = HTTPFields()
        do throws(NetworkError) { try apply(to: &fields) } catch { throw ValidationError("\(error.message).") }
    }

    /// Adds the `Authorization` field, where there is one to add.
    func apply(to headers: inout HTTPFields) throws(NetworkError) {
        if let user, let colon = user.utf8.firstIndex(of: UInt8(ascii: ":")) {
            try headers.setBasicAuthorization(user: String(user[..<colon]), password: String(user[user.utf8.index(after: colon)...]))
        }
        if let bearer {
            let field = try HeaderField.checked("Authorization", "Bearer \(bearer)")
            headers[field.name] = field.value
        }
    }
}
#endif
