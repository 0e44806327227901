#if Metrics
import HTTPTypes
import ScopedNet

/// The dimensions of a request's metrics: few values each, whatever servers and users send.
///
/// Each metric has the same names every time, with empty values for what is not known: backends that keep a table for each metric, as Prometheus does,
/// refuse others.
struct Dimensions {
    private let request: [(String, String)]
    private var status = ""
    private var version = ""
    private var source = ""
    private var error = ""

    init(_ request: InterceptedRequest) {
        let origin = URLOrigin(request.url)
        self.request = [
            ("http.request.method", request.methodLabel), ("server.address", origin?.plainHost ?? ""),
            ("server.port", origin.map { "\($0.port)" } ?? ""), ("url.scheme", origin?.scheme ?? ""),
        ]
    }

    /// Of a request that is under way.
    var begun: [(String, String)] { request }

    /// Of a request that is over.
    func ended(_ place: InterceptedRequest.Context.Place) -> [(String, String)] {
        request + [("http.response.status_code", status), ("network.protocol.version", version), ("error.type", error)]
            + (place == .call ? [("scopednet.source", source)] : [])
    }

    mutating func note(_ response: InterceptedResponse) {
        status = "\(response.head.status)"
        version = response.metrics?.httpVersion ?? ""
        source = "\(response.source)"
        if response.head.status >= 400 { error = status }
    }

    mutating func note(_ error: any Error) { self.error = InterceptedRequest.label(of: error) }
}
#endif
