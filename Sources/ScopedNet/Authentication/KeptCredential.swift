internal import FoundationEssentials
internal import Persistence

/// A credential as it lies on disk.
struct KeptCredential: Codable {
    private let scheme: String
    private let host: String
    private let port: Int
    private let realm: String?
    private let isProxy: Bool
    private let user: String?
    private let secret: String

    init(_ space: ProtectionSpace, _ credential: Credential) {
        scheme = space.origin.scheme
        host = space.origin.host
        port = space.origin.port
        realm = space.realm
        isProxy = space.isProxy
        switch credential.kind {
        case .basic(let user, let password):
            self.user = user
            secret = password
        case .bearer(let token):
            user = nil
            secret = token
        }
    }

    var space: ProtectionSpace {
        ProtectionSpace(origin: RequestURL.Origin(scheme: scheme, host: host, port: port), realm: realm, isProxy: isProxy)
    }

    var credential: Credential { user.map { .basic(user: $0, password: secret) } ?? .bearer(secret) }

    /// The realm stands last, so it may hold anything.
    static func name(of space: ProtectionSpace) -> String {
        "\(space.isProxy ? "proxy" : "server") \(space.origin) \(space.realm.map { "=" + $0 } ?? "*")"
    }

    var record: StoreRecord? {
        guard let data = try? JSONEncoder().encode(self) else { return nil }
        return StoreRecord(name: Self.name(of: space), data: data)
    }
}
