import CCurl
import HTTPTypes

/// Requests that libcurl sends again by itself within one transfer.
extension CurlEasy {
    /// Whether libcurl may answer a response with this status by sending the request again. A head that it answers is not the final one.
    func mayBeAnswered(_ status: Int) -> Bool {
        switch status {
        // Also where it comes from a server: libcurl answers it all the same.
        case 407: return loop.profile.answersProxies
        case 417:
            guard let transfer, transfer.body != nil, transfer.headers.fields[.expect] != nil, unexpectingHeaders == nil else {
                return false
            }
            // libcurl 7.88 keeps the connection, on which the server may go on to wait for the body.
            forbidReuse()
            return true
        default: return false
        }
    }

    /// A line that comes now belongs to the answer of a proxy to CONNECT: the connection is newer than the latest request.
    var isOpeningTunnel: Bool {
        guard loop.profile.answersProxies, let transfer, loop.profile.tunnels(transfer.url) else { return false }
        return repeats.isFirst || number(CURLINFO_NUM_CONNECTS) != repeats.connections
    }

    /// A proxy that calls each nonce stale would be answered until the connect timeout.
    func receivedTunnelHeader(_ line: UnsafeRawBufferPointer) -> Int {
        guard line.starts(with: "HTTP/".utf8), line.dropFirst(8).starts(with: " 407".utf8), !repeats.mayAnswerTunnel() else {
            return line.count
        }
        let message = "the proxy has refused \(RequestRepeats.mostAnswers) answers to its challenges"
        fail(with: error(.proxyFailed, message, phase: .connecting))
        return 0
    }

    /// - Returns: false when the request must not be sent.
    func begins(_ decision: RequestRepeats.Decision) -> Bool {
        switch decision {
        case .send, .reconnect: return true
        case .answer:
            holdsHead = false
            return parser.status != 417 || dropExpectation()
        case .giveUp:
            // Reported with the end of the transfer. Its body is gone.
            isCutShort = true
            return false
        case .refused:
            fail(with: error(.connectionLost, "the server refuses the request on each new connection", phase: .awaitingResponse))
            return false
        case .connectionLost:
            fail(
                with: error(
                    .connectionLost, "the pooled connection was closed by the server; the request may have reached it",
                    phase: .awaitingResponse))
            return false
        }
    }

    /// libcurl repeats the caller's own field, which the server has just refused (RFC 9110 section 10.1.1).
    private func dropExpectation() -> Bool {
        guard let transfer else { return false }
        do throws(NetworkError) {
            let headers = try transfer.headers.withoutExpectation()
            unexpectingHeaders = headers
            guard scurl_set_list(handle, CURLOPT_HTTPHEADER, headers.list) == CURLE_OK else {
                throw NetworkError(.resources, phase: .preparing, message: "no memory for the header fields")
            }
            return true
        } catch {
            fail(with: self.error(error.code, error.message))
            return false
        }
    }
}
