import HTTPTypes
import Persistence

/// What stored responses are kept by (RFC 9111 section 2): partition, kind of method, and URI.
///
/// The URI is `http://host/path?query` with scheme and host in lower case, without a default port and without a fragment. Path and query are
/// left as they are: `%7E` and `~` are two keys, as only the server knows whether they are one resource. Credentials in the URL become a hash.
/// A ``VirtualHost`` stands behind the URI.
package struct CacheKey: Sendable, CustomStringConvertible {
    /// What a store looks rows up by. Two keys are the same when the bytes of their texts are.
    package let text: String
    /// What is cleared together.
    package let partition: String
    /// Without partition and kind; what ``ResponseCache/Status/key`` shows.
    package let uri: String

    package var description: String { text }

    private init(partition: String, kind: String, uri: String, custom: String?) {
        // The length keeps a partition with a blank in its name from being another one with a longer URI.
        text = "\(partition.utf8.count):\(partition) \(kind) \(custom ?? uri)"
        self.partition = partition
        self.uri = custom ?? uri
    }

    /// The key of a request under a policy.
    ///
    /// HEAD is answered out of what GET has stored, and what other methods invalidate is stored by GET too: all have GET's key, but for the
    /// ``CachePolicy/additionalMethods``.
    init?(_ request: CacheRequest, policy: CachePolicy, hashSecret: SecretHash) {
        guard let url = CacheURL(request.url) else { return nil }
        let isKeyed = policy.keeps(request.method)
        let kind = isKeyed ? request.method.rawValue : "GET"
        self.init(
            url, at: VirtualHost(request.fields, of: url), kind: kind, method: isKeyed ? request.method : .get, policy: policy,
            hashSecret: hashSecret)
    }

    /// The key of what GET stores for a URL.
    init(_ url: CacheURL, at host: VirtualHost?, policy: CachePolicy, hashSecret: SecretHash) {
        self.init(url, at: host, kind: "GET", method: .get, policy: policy, hashSecret: hashSecret)
    }

    private init(
        _ url: CacheURL, at host: VirtualHost?, kind: String, method: HTTPRequest.Method, policy: CachePolicy, hashSecret: SecretHash
    ) {
        var uri = url.text
        // An account is a user of its own (RFC 7617): what one may see is not for the other, and the password is nobody's to store.
        if let userInfo = url.userInfo { uri += " user=" + hashSecret(Array(userInfo.utf8)) }
        // No URI has a blank, so that neither suffix is ever a part of one. Last, as nothing is known of its text.
        if let host { uri += " host=" + host.text }
        let custom = policy.customKey?.make(method, uri)
        self.init(partition: policy.partition, kind: kind, uri: uri, custom: custom)
    }
}

extension CacheKey: Hashable {
    /// By bytes: strings that differ in nothing but the composition of an accent are equal as `String`.
    package static func == (left: CacheKey, right: CacheKey) -> Bool { left.text.hasSameBytes(as: right.text) }
    package func hash(into hasher: inout Hasher) { ExactString(text).hash(into: &hasher) }
}

/// A keyed hash, so that what is kept of a secret tells nobody what it was. The key is the store's.
package typealias SecretHash = @Sendable ([UInt8]) -> String
