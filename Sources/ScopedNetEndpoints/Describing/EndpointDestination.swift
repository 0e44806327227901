public import FoundationEssentials
import HTTPTypes
public import ScopedNet

/// The place of the body of a response to an ``Endpoint``.
public struct EndpointDestination<Value: Sendable>: Sendable {
    /// A download's place, with a decoder that knows it.
    private let file: URL?
    /// Makes the request of a download out of that for a file.
    private let take: (@Sendable (Request<URL>) -> Request<Value>)?

    /// Memory: the decoder makes the value of it.
    public static var memory: EndpointDestination { EndpointDestination(file: nil, take: nil) }

    /// - Returns: nil for what stays in memory.
    func request(for call: APICall, of session: Session, fileID: StaticString, line: Int) -> Request<Value>? {
        guard let file, let take else { return nil }
        let request = session.download(call.path, to: file, query: call.query, headers: call.headers, fileID: fileID, line: line)
        guard call.method == .get, call.requestBody == nil else {
            return take(request.refused(with: .refused(DownloadRefusal())))
        }
        return take(request)
    }
}

extension EndpointDestination where Value == URL {
    /// A file, or a folder for a file of the server's name, as ``Session/download(_:to:query:headers:fileID:line:)``: the value is the URL of the file. For
    /// a GET without a body; any other is `invalidParameters`.
    public static func file(_ url: URL) -> EndpointDestination { EndpointDestination(file: url, take: { $0 }) }
}

/// The refusal of a download by another method, or with a body.
private struct DownloadRefusal: Error, CustomStringConvertible {
    var description: String { "a download is a GET without a body" }
}
