import FoundationEssentials

/// What the hooks are asked when a head has come, one after the other. Holds no run.
struct ResponseQuestion: Sendable {
    enum Answer: Sendable {
        /// As without hooks.
        case usual
        case cancel
        case file(DownloadPlace)
        case fail(any Error)
    }

    let arrival: RequestHooks.IncomingResponse
    let disposition: Hook<RequestHooks.IncomingResponse, RequestHooks.Disposition>?
    let destination: Hook<RequestHooks.IncomingDownload, URL>?
    /// Where the body goes without hooks, if that is a file.
    let path: String?
    let admit: @Sendable () -> Bool

    func answer() async -> Answer {
        if let disposition {
            switch await disposition.ask(arrival, admit: admit).map({ $0?.kind }) {
            case .failure(let error): return .fail(error)
            case .success(.cancel): return .cancel
            case .success(.download(let file)): return Self.file(file, arrival, isAllowed: arrival.canBecomeDownload)
            case .success(.allow), .success(nil): break
            }
        }
        guard let destination, let path else { return .usual }
        return await Self.ask(destination, arrival, path, admit)
    }

    static func ask(
        _ hook: Hook<RequestHooks.IncomingDownload, URL>, _ arrival: RequestHooks.IncomingResponse, _ path: String,
        _ admit: @escaping @Sendable () -> Bool
    ) async -> Answer {
        let question = RequestHooks.IncomingDownload(
            runID: arrival.runID, url: arrival.url, head: arrival.head, proposed: URL(filePath: path),
            suggestedName: DownloadName.name(contentDisposition: arrival.head["content-disposition"], url: arrival.url))
        switch await hook.ask(question, admit: admit) {
        case .failure(let error): return .fail(error)
        case .success(nil): return .usual
        case .success(let file?): return Self.file(file, arrival, isAllowed: true)
        }
    }

    private static func file(_ file: URL, _ arrival: RequestHooks.IncomingResponse, isAllowed: Bool) -> Answer {
        guard isAllowed else {
            let message =
                "the value of this request is made of its body; ask for a RequestHooks.DataOrFile where that may become a download"
            return .fail(NetworkError(.invalidOption, phase: .receiving, message: message))
        }
        let path = DownloadPlace.path(file)
        guard !path.isEmpty else {
            return .fail(NetworkError(.invalidOption, phase: .receiving, message: "the destination of a download must be a file URL"))
        }
        guard !path.utf8.contains(0) else { return .fail(NetworkError.nulInPath(path, .fileUnwritable)) }
        return .file(DownloadPlace(path, head: arrival.head, url: arrival.url))
    }
}
