public import FoundationEssentials
public import HTTPTypes

extension RequestHooks {
    /// An accepted response whose body is still to come, for `decideDisposition` to decide about.
    public struct IncomingResponse: Sendable {
        /// The same as ``Run/id``.
        public let runID: UInt64
        /// Of the request that was answered, after redirects.
        public let url: String
        /// The method of the request that was answered, after redirects.
        public let method: HTTPRequest.Method
        /// The status and fields of the response.
        public let head: ResponseHead
        /// True when ``RequestHooks/Disposition/download(to:)`` may be answered: the request is a download, or its value is a ``RequestHooks/DataOrFile``.
        public let canBecomeDownload: Bool
    }
}

extension RequestHooks {
    /// The answer of `decideDisposition`.
    public struct Disposition: Sendable {
        enum Kind: Sendable { case allow, cancel, download(URL) }
        let kind: Kind

        /// The body goes where it would have gone.
        public static let allow = RequestHooks.Disposition(kind: .allow)

        /// The run is cancelled, with the reason `explicit`. The body is not read; on HTTP/1.1 its connection is closed.
        public static let cancel = RequestHooks.Disposition(kind: .cancel)

        /// Writes the body to a file, by the rules of downloads: beside it first, and moved there in one step on success only.
        /// ``Response/file`` says where it is. The response is not stored in the cache, and ``RequestHooks/destination`` is not asked.
        ///
        /// The URL is a file URL. One that ends with a slash is a folder; the name is then the server's, made safe, or that of the URL,
        /// with a number where it is taken.
        public static func download(to file: URL) -> RequestHooks.Disposition { RequestHooks.Disposition(kind: .download(file)) }
    }
}

extension RequestHooks {
    /// An accepted response that will be a file, for `chooseDestination` to decide about.
    public struct IncomingDownload: Sendable {
        /// The same as ``Run/id``.
        public let runID: UInt64
        /// Of the request that was answered, after redirects.
        public let url: String
        /// The status and fields of the response.
        public let head: ResponseHead
        /// The file that is written unless the hook says otherwise.
        public let proposed: URL
        /// The server's name for the file (RFC 6266), else the end of the URL: without folders, control
        /// characters and leading dots. A file of that name may be there: a hook that answers the folder
        /// leaves it alone, one that answers a whole path replaces it.
        public let suggestedName: String
    }
}

extension RequestHooks {
    /// The value of a response that may become a download on its way: see ``RequestHooks/Disposition/download(to:)``.
    public enum DataOrFile: Sendable, Hashable {
        /// The body, in memory.
        case data(Data)
        /// It was put there.
        case file(URL)
    }
}

extension ResponseDecoder where Value == RequestHooks.DataOrFile {
    /// The body as it is, or the file that a disposition hook had it put in.
    public static var dataOrFile: Self {
        placing { (path: String?, body: Data) in path.map { .file(URL(filePath: $0)) } ?? .data(body) }
    }
}
