import HTTPTypes
import Persistence
import SystemSupport

/// Makes what a session's requests are sent by: descriptions with the session's defaults, and templates that are checked and complete.
///
/// It sends nothing and asks nobody: a template depends on the settings and the description alone. Templates of plain requests are made once.
struct RequestFactory: ~Copyable, Sendable {
    /// The number of plain templates that are remembered.
    static let capacity = 256

    let headers: HeaderLayers
    let urls: URLResolver
    let defaultOptions: OptionsBox
    private let rateLimit: Session.Configuration.RateLimit?
    private let errorBodyBytes: Int
    /// Refuses the URLs that the session's pins do not allow.
    private let checkTrust: @Sendable (RequestURL) throws(NetworkError) -> Void
    private let blocks = Lock(DefaultBlocks())
    /// Plain GETs with the session's own options and fields, by URL text: what most requests are.
    private let templates = Lock(KnownTemplates())

    // Neither is private: the session's own file destroys them, and Swift 6.3 fails there where it does not see the types.
    struct KnownTemplates {
        var table: [ExactString: RequestTemplate] = [:]
        /// The one asked for last: programs ask for the same again and again, and comparing is cheaper than hashing.
        var last: (url: ExactString, template: RequestTemplate)?
    }

    struct DefaultBlocks {
        var plain: HeaderBlock?
        var compressed: HeaderBlock?
    }

    init(_ configuration: Session.Configuration, checkTrust: @escaping @Sendable (RequestURL) throws(NetworkError) -> Void) {
        headers = HeaderLayers(defaults: configuration.headers)
        urls = URLResolver(base: configuration.baseURL)
        defaultOptions = OptionsBox(configuration.options)
        rateLimit = configuration.rateLimit
        errorBodyBytes = configuration.errorBodyBytes
        self.checkTrust = checkTrust
    }

    // MARK: Descriptions

    /// Describes a request. What is wrong with it becomes the failure of its starts.
    func description(
        _ method: HTTPRequest.Method, _ url: String, _ query: Parameters, _ own: HeaderFields, _ body: RequestBody?,
        accepting type: String?, destination: String?, failure: NetworkError?
    ) -> RequestDescription {
        var (url, failure) = (url, failure)
        do throws(NetworkError) { url = try QuerySerializer.standard.appending(query, to: url) } catch { failure = failure ?? error }
        return RequestDescription(
            url: url, method: method, headers: headers.accepting(type, own.fields), body: body,
            options: destination == nil ? defaultOptions : downloadOptions, destination: destination, mistake: failure,
            refused: own.mistakes)
    }

    private var downloadOptions: OptionsBox {
        var options = defaultOptions.value
        options.acceptsCompression = false
        return OptionsBox(options)
    }

    // MARK: Templates

    /// Returns the template of a request, made once for each URL when the request adds nothing to the session's defaults.
    func template(_ description: RequestDescription) throws(NetworkError) -> RequestTemplate {
        let isPlain =
            description.options === defaultOptions && description.body == nil && description.method == .get && description.headers.isEmpty
            && description.destination == nil
        guard isPlain else { return try makeTemplate(description) }
        let url = ExactString(description.url)
        let known = templates.withLock { known -> RequestTemplate? in
            if let last = known.last, last.url == url { return last.template }
            guard let template = known.table[url] else { return nil }
            known.last = (url, template)
            return template
        }
        if let known { return known }
        let template = try makeTemplate(description)
        templates.withLock { known in
            if known.table.count >= Self.capacity { known.table = [:] }
            known.table[url] = template
        }
        return template
    }

    private func makeTemplate(_ description: RequestDescription) throws(NetworkError) -> RequestTemplate {
        let options = description.options.value
        try description.check()
        try rateLimit?.check()
        let url = try urls.resolve(description.url)
        try options.access.check(url)
        try checkTrust(url)
        try description.body?.check(for: description.method)
        let fields: HTTPFields
        let block: HeaderBlock
        if description.headers.isEmpty, description.body == nil, !description.method.meansBody {
            block = try defaultBlock(compressed: options.acceptsCompression)
            fields = block.fields
        } else {
            let own = try headers.fields(description.headers, compressed: options.acceptsCompression)
            fields = try HeaderLayers.typed(own, description.body)
            block = try HeaderLayers.block(fields, method: description.method, body: description.body)
        }
        return RequestTemplate(
            url: url, method: description.method, fields: fields, headers: block, body: description.body, options: options,
            transferOptions: TransferOptions(options, body: description.body, isFile: description.destination != nil),
            destination: description.destination, errorBodyBytes: errorBodyBytes)
    }

    /// The fields of a request without fields of its own.
    private func defaultBlock(compressed: Bool) throws(NetworkError) -> HeaderBlock {
        if let known = blocks.withLock({ compressed ? $0.compressed : $0.plain }) { return known }
        let block = try HeaderLayers.block(try headers.fields([:], compressed: compressed), method: .get, body: nil)
        blocks.withLock { blocks in
            if compressed { blocks.compressed = block } else { blocks.plain = block }
        }
        return block
    }
}

extension TransferOptions {
    /// Makes what each attempt of a request shares.
    convenience init(_ options: RequestOptions, body: RequestBody?, isFile: Bool) {
        var version = options.httpVersion
        // Below libcurl 8 large HTTP/2 uploads spin while the peer's window is shut (curl #10618).
        // A stream that is held back buffers up to its whole window there.
        let mayPause = body?.isLarge == true || options.limitsRates || options.hooks.box?.table.holdsBodies == true
        if version == .automatic, mayPause, !Capabilities.current.pausesHTTP2Safely { version = .http1 }
        self.init(
            timeouts: options.timeouts, httpVersion: version, maxHeaderBytes: options.limits.headerBytes,
            bufferBytes: isFile ? TransferOptions.fileBufferBytes : OptionState.usualBufferBytes, maxUploadRate: options.limits.uploadRate,
            maxDownloadRate: options.limits.downloadRate, maxDownloadBytes: options.limits.downloadBytes)
    }
}
