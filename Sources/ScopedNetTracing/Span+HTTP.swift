#if Tracing
import HTTPTypes
import ScopedNet
import Tracing

/// The attributes of OpenTelemetry's conventions for HTTP clients.
extension Span {
    func describe(_ request: InterceptedRequest) {
        updateAttributes { attributes in
            let label = request.methodLabel
            attributes["http.request.method"] = label
            if label != request.method.rawValue { attributes["http.request.method_original"] = request.method.rawValue }
            attributes["url.full"] = SecretMask().maskedURL(request.url)
            if let origin = URLOrigin(request.url) {
                attributes["url.scheme"] = origin.scheme
                attributes["server.address"] = origin.plainHost
                attributes["server.port"] = origin.port
            }
        }
    }

    func describe(_ response: InterceptedResponse) {
        let status = response.head.status
        updateAttributes { attributes in
            attributes["http.response.status_code"] = status
            attributes["scopednet.source"] = "\(response.source)"
            if status >= 400 { attributes["error.type"] = "\(status)" }
            guard let metrics = response.metrics else { return }
            attributes["network.protocol.name"] = "http"
            if !metrics.httpVersion.isEmpty { attributes["network.protocol.version"] = metrics.httpVersion }
            if !metrics.remoteAddress.isEmpty {
                attributes["network.peer.address"] = metrics.remoteAddress
                attributes["network.peer.port"] = metrics.remotePort
            }
            attributes["http.request.body.size"] = metrics.bodyBytesSent
            attributes["http.response.body.size"] = metrics.bodyBytesReceived
        }
        if status >= 400 { setStatus(SpanStatus(code: .error)) }
    }

    func describe(_ error: any Error) {
        let known = error as? NetworkError
        if error is CancellationError || known?.isCancelled == true {
            attributes["error.type"] = "cancelled"
            attributes["scopednet.cancelled"] = known?.cancelReason?.description
            return
        }
        attributes["error.type"] = InterceptedRequest.label(of: error)
        recordError(error)
        setStatus(SpanStatus(code: .error, message: "\(error)"))
    }
}
#endif
