import HTTPTypes

/// Requests that libcurl sends again by itself within one transfer.
extension CurlEasy {
    /// Tells whether libcurl may answer a response with this status by sending the request again. A head that it answers is not the final one.
    func mayBeAnswered(_ status: Int) -> Bool {
        guard repeats.mayAnswer(status, answersProxies: loop.profile.answersProxies, expects: hasExpectation) else { return false }
        // libcurl 7.88 keeps the connection, on which the server may go on to wait for the body.
        if status == 417 { forbidReuse() }
        return true
    }

    private var hasExpectation: Bool { transfer.map { $0.body != nil && $0.headers.fields[.expect] != nil } ?? false }

    /// A line that comes now belongs to the answer of a proxy to CONNECT: the connection is newer than the latest request.
    var isOpeningTunnel: Bool {
        guard loop.profile.answersProxies, let transfer, loop.profile.tunnels(transfer.url) || transfer.pipe != nil else { return false }
        return repeats.isFirst || info.connections != repeats.connections
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
            body.cutShort()
            return false
        case .refused, .connectionLost:
            if let message = decision.failure { fail(with: error(.connectionLost, message, phase: .awaitingResponse)) }
            return false
        }
    }

    /// libcurl repeats the caller's own field, which the server has just refused (RFC 9110 section 10.1.1).
    private func dropExpectation() -> Bool {
        guard let transfer else { return false }
        do throws(NetworkError) {
            unexpectingHeaders = try TransferSetup(easy: self, transfer: transfer).dropExpectation()
            repeats.expectationDropped()
            return true
        } catch {
            fail(with: self.error(error.code, error.message))
            return false
        }
    }
}
