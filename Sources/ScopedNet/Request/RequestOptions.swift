public import FoundationEssentials

/// The fate of a run whose handles or bag go away.
public enum ReleaseStrategy: Sendable, Hashable {
    /// The agent keeps it until it ends; dropping the handle changes nothing, ending the bag cancels. The default: a temporary is safe.
    case untilFinished
    /// Dropping the last handle (the ``Request`` and every ``Run`` of it) cancels too.
    case cancelOnRelease
    /// When handle, bag or owner go, nothing is called any more and the transfer goes on: its result still reaches
    /// file and cache. An explicit `cancel()` stops it.
    case detached
}

/// The status codes that are a success.
public struct StatusValidation: Sendable, Hashable {
    package enum Kind: Sendable, Hashable { case success, any, codes(Set<Int>) }
    package let kind: Kind

    /// 200 to 299. The default.
    public static let success = StatusValidation(kind: .success)
    /// Every status is delivered as a success.
    public static let any = StatusValidation(kind: .any)
    /// These statuses are a success.
    public static func codes(_ codes: Set<Int>) -> StatusValidation { StatusValidation(kind: .codes(codes)) }

    package func accepts(_ status: Int) -> Bool {
        switch kind {
        case .success: (200..<300).contains(status)
        case .any: true
        case .codes(let codes): codes.contains(status)
        }
    }
}

/// The choices of one request; a session's configuration holds the defaults.
public struct RequestOptions: Sendable {
    /// The clocks of a run.
    public var timeouts = Timeouts()
    /// The place in the queue. Default: ``Priority/normal``.
    public var priority = Priority.normal
    /// The fate of a run whose handles or bag go. Default: ``ReleaseStrategy/untilFinished``.
    public var release = ReleaseStrategy.untilFinished
    /// The rule for a start while a run of the same request is under way.
    public var repeats = Repeats.concurrent
    /// The rule for failed attempts. Default: ``RetryPolicy/none``, and so no retries but of a connection that was dead.
    public var retry = RetryPolicy.none
    /// Without a path to the server, waits for one before the first attempt instead of failing at once. Default: false. The wait ends with
    /// ``Timeouts/connectivity``, with the run's cancellation or with its scope; it holds no connection slot. A wrong answer of the system
    /// would hold the request up, so ask for it only where nobody minds a late one.
    public var waitsForConnectivity = false
    /// What the request wants of the session's response cache, if that has one. Streams are neither stored nor read out of it;
    /// what they change on a server with an unsafe method is thrown away all the same.
    public var cache = CachePolicy.standard
    /// What a download to a file leaves on the disk. Default: the complete file, or nothing.
    public var downloads = DownloadOptions()
    /// Whether the session's cookie jar has a say: sends what it has and keeps what comes. Default: true.
    public var handlesCookies = true
    /// How the request proves who is asking. Default: ``Authentication/automatic``, the session's credentials where it has some.
    public var authentication = Authentication.automatic
    /// The rule for redirects. Default: up to 20 are followed.
    public var redirects = RedirectPolicy()
    /// Which URLs may be asked, redirects included. Default: all.
    public var access = AccessPolicy()
    /// Closures of the program that decide how a run goes on. They live as long as these options. None by default.
    public var hooks = RequestHooks()
    /// Interceptors, in their order. Those of a session come first where a request adds its own (``Request/interceptors(call:exchange:)``). None by
    /// default.
    public var interceptors: Interceptors {
        get { interceptorBox?.interceptors ?? Interceptors() }
        set { interceptorBox = InterceptorBox(newValue) }
    }
    private(set) var interceptorBox: InterceptorBox?
    /// The responses that are a success. Default: a status of 200 to 299, and the media types that the decoder expects.
    public var validation = Validation.success
    /// The version of HTTP that is spoken. Default: ``HTTPVersionPolicy/automatic``.
    public var httpVersion = RequestOptions.HTTPVersionPolicy.automatic
    /// A label to find and cancel requests by. Several requests may share one.
    public var tag: String?
    /// Travels with the request to delegates and observers.
    public var userInfo: [String: any Sendable] = [:]
    /// The limits on the size and the speed of a message.
    public var limits = Limits()
    /// True where codings that can be decoded are offered to the server. Default: true; downloads to a file never do.
    public var acceptsCompression = true

    /// Makes the defaults.
    public init() {}
}

extension RequestOptions {
    /// The rule for a start while a run of the same request is under way.
    public struct Repeats: Sendable, Hashable {
        /// The rule. Default: ``RepeatStrategy/concurrent``.
        public var strategy: RepeatStrategy
        /// Runs with the same key are the same, whatever object they came from. Nil, the default: runs of one object are.
        public var key: String?

        /// Makes a rule for the runs of a request, or of a key.
        public init(_ strategy: RepeatStrategy = .concurrent, key: String? = nil) {
            self.strategy = strategy
            self.key = key
        }

        /// Each start is a run of its own.
        public static let concurrent = Repeats(.concurrent)
        /// The earlier runs are cancelled, and the new one runs.
        public static let replaceRunning = Repeats(.replaceRunning)
        /// The earlier run continues, and the start is refused.
        public static let keepRunning = Repeats(.keepRunning)
        /// Another name of ``concurrent``.
        public static let allowAll = concurrent
        /// Another name of ``replaceRunning``.
        public static let cancelOldest = replaceRunning
        /// Another name of ``keepRunning``.
        public static let cancelNewest = keepRunning
    }

    /// The limits on the size and the speed of a message.
    public struct Limits: Sendable {
        /// The most bytes of a body in memory, encoded and decoded. Default: 256 MiB.
        public var bodyBytes = 256 << 20
        /// The most bytes of a body that goes to a file or a stream, as sent; of a download that goes on, with what was there. More is
        /// ``NetworkError/Code/bodyTooLarge``. Nil, the default: as many as come.
        public var downloadBytes: Int64?
        /// The most bytes of response header fields. Default: 256 KiB.
        public var headerBytes = 256 << 10
        /// The most bytes of the body that are sent in a second, on average. Nil, the default: as fast as it goes.
        ///
        /// Others on the same session are not slowed, and the idle clock stands still while the limit holds the transfer back.
        public var uploadRate: Int?
        /// The most bytes of the body, as it comes over the wire, that are received in a second, on average. Nil, the default: as fast as
        /// it goes.
        public var downloadRate: Int?
        /// The limits on the expansion of a coded body.
        public var decoding = DecodingLimits.default

        /// Makes the defaults.
        public init() {}
    }

    /// The responses that are a success; all others are a failure of the run.
    public struct Validation: Sendable {
        /// The statuses. Default: ``StatusValidation/success``, 200 to 299. Others are ``NetworkError/Code/unacceptableStatus``.
        public var statuses: StatusValidation
        /// The media types. Default: those the decoder expects. Others are ``NetworkError/Code/unacceptableContentType``.
        public var contentTypes: ContentTypeValidation
        /// A check of your own, of the head and the decoded body of a response whose status and type are accepted, before a value is made of it;
        /// stored responses are checked, too. A download's body is empty here, and its file replaces nothing before the check; a stream
        /// is not checked.
        ///
        /// An error it throws is the failure of the run: a ``NetworkError`` as it is, all else as the `underlying` of
        /// ``NetworkError/Code/unacceptableResponse``; such a response is not stored. Called on a work thread; not called once the run is
        /// cancelled. Nil, the default: nothing more is checked.
        public var check: (@Sendable (ResponseHead, Data) throws -> Void)?

        /// Makes a rule.
        public init(
            _ statuses: StatusValidation = .success, contentTypes: ContentTypeValidation = .automatic,
            check: (@Sendable (ResponseHead, Data) throws -> Void)? = nil
        ) {
            self.statuses = statuses
            self.contentTypes = contentTypes
            self.check = check
        }

        /// 200 to 299.
        public static let success = Validation(.success)
        /// Every status is delivered as a success.
        public static let any = Validation(.any)
        /// These statuses are a success.
        public static func codes(_ codes: Set<Int>) -> Validation { Validation(.codes(codes)) }

        package func accepts(_ status: Int) -> Bool { statuses.accepts(status) }
    }
}

extension RequestOptions {
    /// The version of HTTP that is spoken.
    public typealias HTTPVersionPolicy = ConnectionSettings.HTTPVersionPolicy
}
