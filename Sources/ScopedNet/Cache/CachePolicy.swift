public import HTTPTypes

/// What a caller wants of the response cache, above what HTTP says.
///
/// The default is a private cache as RFC 9111 has it. Nothing here ever stores a response that says `no-store`.
///
/// ```swift
/// var policy = CachePolicy.standard
/// policy.timeToLive = .seconds(600)   // good for ten minutes, whatever the server says
/// policy.version = "3"                // what older versions of the program have stored is not read
/// ```
public struct CachePolicy: Sendable, Hashable {
    /// What is done with a stored response.
    public enum ReadMode: Sendable, Hashable, CaseIterable {
        /// Nothing: the request goes to the server as it is. Its response is still stored, as ``CachePolicy/write`` says.
        case none
        /// It is the answer while it is valid; else it is validated, or the server is asked anew. The default.
        case validOrNetwork
        /// It is delivered at once, stale or not, and what the server says follows as a second delivery. Not where the server forbids stale use.
        case thenNetwork
        /// It is validated with the server in any case, by `Cache-Control: max-age=0`, unless the server called it immutable (RFC 8246).
        case revalidate
        /// It is the answer, or there is none: the network is not used. Stale ones are good enough if ``CachePolicy/servesStaleWhenDisconnected``; without one, also in a session without a cache, the request ends
        /// as ``NetworkError/Code/notInCache``.
        case only
    }

    /// Where responses are stored.
    public struct WriteMode: OptionSet, Sendable, Hashable {
        /// The modes as bits.
        public let rawValue: Int
        /// Makes a set of its bits.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// Alone: never on disk, and gone with the process or when memory has no room. Downloads are not stored then.
        public static let memory = WriteMode(rawValue: 1)
        /// Alone: in memory only once it has been read.
        public static let disk = WriteMode(rawValue: 2)
        /// Memory and disk. The default.
        public static let both: WriteMode = [.memory, .disk]
        /// Responses are not stored.
        public static let none: WriteMode = []
    }

    /// What is done with a stored response. Default: ``ReadMode/validOrNetwork``.
    public var read = ReadMode.validOrNetwork
    /// Where responses are stored. Default: ``WriteMode/both``.
    public var write = WriteMode.both
    /// How long a response with a status of 200 to 299 is valid, counted from when the server made it, in place of what it says itself;
    /// `no-cache` and `must-revalidate` count again when the time is over. Judged by the reader's policy. Default: nil, what the response says.
    public var timeToLive: Duration?
    /// Responses stored under another version are not read. Default: empty.
    public var version = ""
    /// Responses stored with another value, such as an account or a language chosen in the program, are not read. A keyed hash is stored in its
    /// place. Default: nil.
    public var sensitiveValue: String?
    /// Keeps the responses of one account or part of a program apart from those of others. Default: empty.
    public var partition = ""
    /// Makes keys of URLs, where the URL is not what tells responses apart. Default: nil, the normalised URL.
    public var customKey: CachePolicy.CustomKey?
    /// Methods besides GET and HEAD whose successful responses are stored and reused, for servers that read with POST. Each needs a
    /// ``customKey`` that covers what is asked for in the body; without one they are not stored. Such requests invalidate nothing. Default: none.
    public var additionalMethods: Set<HTTPRequest.Method> = []
    /// The most variants of one URL (RFC 9111 section 4.1); the oldest make room. Default: 16.
    public var maxVariants = 16
    /// Whether a response without a lifetime of its own is used for a tenth of the time since it was last changed, for a day at most (RFC 9111
    /// section 4.2.2). Default: true.
    public var usesHeuristics = true
    /// Whether a stale response is used when the server cannot be reached, or answers 502, 503 or 504, and nobody has said for how long that is
    /// good (`stale-if-error`). Never where the server wrote `must-revalidate` or `no-cache`. Default: true.
    public var servesStaleWhenDisconnected = true

    /// Whether a request waits for one that is under way for the same URL, and then looks for its answer in the cache; it goes itself when that
    /// is not for it, or has not come within the request's first-byte timeout. Default: true.
    public var coalescesRequests = true

    /// Makes the ``standard`` policy.
    public init() {}

    /// A private cache as RFC 9111 has it.
    public static let standard = CachePolicy()

    /// No cache: nothing is read and nothing is stored.
    public static let off: CachePolicy = {
        var policy = CachePolicy()
        policy.read = .none
        policy.write = .none
        return policy
    }()

    /// A stored response, or `notInCache`: the network is not used (``ReadMode/only``).
    public static let only = reading(.only)

    /// A stored response is validated with the server in any case (``ReadMode/revalidate``).
    public static let revalidate = reading(.revalidate)

    /// A stored response at once, stale or not, and the server's as a second delivery (``ReadMode/thenNetwork``).
    public static let thenNetwork = reading(.thenNetwork)

    private static func reading(_ mode: ReadMode) -> CachePolicy {
        var policy = CachePolicy()
        policy.read = mode
        return policy
    }

    func keeps(_ method: HTTPRequest.Method) -> Bool { customKey != nil && additionalMethods.contains(method) }
}

extension CachePolicy {
    /// Makes the cache's keys out of requests.
    public struct CustomKey: Sendable, Hashable {
        /// What makes two custom keys the same: those with one name must be the same function.
        public let name: String
        package let make: @Sendable (HTTPRequest.Method, String) -> String

        /// - Parameters:
        ///   - name: tells this function from others.
        ///   - make: gets the method and the key that would be taken without it, the normalised URL, and returns the key to take. Called on any
        ///     thread, at any time: it must depend on its arguments only.
        public init(_ name: String, make: @escaping @Sendable (_ method: HTTPRequest.Method, _ defaultKey: String) -> String) {
            self.name = name
            self.make = make
        }

        /// Compares names alone: rules of one name are taken for the same.
        public static func == (left: CachePolicy.CustomKey, right: CachePolicy.CustomKey) -> Bool { left.name == right.name }
        /// Hashes the name.
        public func hash(into hasher: inout Hasher) { hasher.combine(name) }
    }
}
