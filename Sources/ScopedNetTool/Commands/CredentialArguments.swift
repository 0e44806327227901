#if CommandLineTool
import ArgumentParser
import HTTPTypes
import ScopedNet

/// Who asks: the one place where credentials get into requests.
struct CredentialArguments: ParsableArguments, Sendable {
    @Option(
        name: .shortAndLong, parsing: .unconditional,
        help: ArgumentHelp("Basic credentials, sent with the first request and not to other origins.", valueName: "user:password"))
    var user: String?

    @Flag(
        name: [.customLong("anyauth"), .customLong("digest")],
        help: "With --user: wait until the server asks, and answer by the best it offers, Digest before Basic.")
    var anyScheme = false

    @Option(parsing: .unconditional, help: ArgumentHelp("A bearer token (RFC 6750), sent likewise.", valueName: "token"))
    var bearer: String?

    @Flag(name: [.customShort("n"), .long], help: "Answer servers that ask out of ~/.netrc, or the file that NETRC names.")
    var netrc = false

    @Option(parsing: .unconditional, help: ArgumentHelp("The same out of this file.", valueName: "file"))
    var netrcFile: String?

    func validate() throws {
        if user != nil, bearer != nil { throw ValidationError("Give either --user or --bearer.") }
        if anyScheme, user == nil { throw ValidationError("--anyauth is for --user, as in --anyauth -u ann:secret.") }
        if user != nil, nameAndPassword == nil { throw ValidationError("--user takes name and password, as in -u ann:secret.") }
        var fields = HTTPFields()
        do throws(NetworkError) { try apply(to: &fields) } catch { throw ValidationError("\(error.message).") }
    }

    /// Of its own accord, and not when asked.
    var setsAuthorization: Bool { bearer != nil || user != nil && !anyScheme }

    var proof: Advice.Proof {
        if user != nil { return anyScheme ? .whenAsked : .basic }
        if bearer != nil { return .token }
        return netrc || netrcFile != nil ? .netrc : .nothing
    }

    private var nameAndPassword: (name: String, password: String)? {
        guard let user, let colon = user.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        return (String(user[..<colon]), String(user[user.utf8.index(after: colon)...]))
    }

    func apply(to configuration: inout Session.Configuration) throws(NetworkError) {
        try apply(to: &configuration.headers.fields)
        if anyScheme, let (name, password) = nameAndPassword {
            configuration.options.authentication = .credential(.basic(user: name, password: password))
        }
        if netrc || netrcFile != nil { configuration.credentials = try .netrc(file: netrcFile) }
    }

    /// Adds the `Authorization` field, where there is one to add.
    private func apply(to headers: inout HTTPFields) throws(NetworkError) {
        if let (name, password) = nameAndPassword {
            var fields = headers
            // What cannot be sent is known before anything is, whoever waits to be asked.
            try fields.setBasicAuthorization(user: name, password: password)
            if !anyScheme { headers = fields }
        }
        if let bearer {
            let field = try HeaderField.checked("Authorization", "Bearer \(bearer)")
            headers[field.name] = field.value
        }
    }
}
#endif
