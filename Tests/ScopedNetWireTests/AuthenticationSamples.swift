import Foundation
import ScopedNet

/// The Swift samples of Authentication.md, word for word.
struct AuthenticationSamples: Sendable {
    func signedInSession(_ password: String) async throws -> Session {
        let store = await CredentialStore(named: "com.example.reader")
        store.set(.basic(user: "ann", password: password), for: try ProtectionSpace("https://example.com", realm: "members"))
        return Session("https://example.com/").with { $0.credentials = store }
    }

    func sign(_ configuration: inout Session.Configuration, with key: String) {
        configuration.options.authentication = .credential(.bearer(key), preemptive: true, at: "https://api.example.com")
    }

    func tokenSession(_ login: Session) -> Session {
        struct Grant: Decodable { let token, refresh: String; let expiresIn: Int }
        let tokens = TokenSource(storage: .init(named: "com.example.reader")) { old in
            let grant = try await login.post("token", form: ["refresh": old?.refresh], as: Grant.self).value()
            return .init(grant.token, expiresIn: .seconds(grant.expiresIn), refresh: grant.refresh)
        }
        return login.with { $0.options.authentication = .tokens(tokens, at: $0.baseURL) }
    }

    actor Keychain {
        func password(of host: String) -> String? { host == "example.com" ? "secret" : nil }

        func request(_ session: Session, _ url: String) -> Request<Data> {
            session.get(url).options {
                $0.authentication = .handler(for: self) { keychain, challenge in
                    guard challenge.previousFailureCount == 0 else { return .deliver }
                    guard let password = await keychain.password(of: challenge.space.origin.host) else { return .performDefault }
                    return .use(.basic(user: "ann", password: password), keeps: true)
                }
            }
        }
    }
}
