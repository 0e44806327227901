import FoundationEssentials

/// Makes the value of a response that is accepted: its coding is undone, the program's check asked, its body decoded. Any thread.
struct ResponseAssembler {
    let template: RequestTemplate
    let decoder: AnyDecoder

    // MARK: Acceptance

    func acceptsType(_ head: ResponseHead, isEmpty: Bool) -> Bool {
        let types = template.options.validation.contentTypes
        // Most requests have no wishes, and the field is not looked for.
        if decoder.types == nil, types.kind == .automatic { return true }
        return types.accepts(head["content-type"], status: head.status, isEmpty: isEmpty, expected: decoder.types)
    }

    /// True when it costs nothing to make the value, so that any thread may do it.
    func isImmediate(_ head: ResponseHead?, _ body: Data) -> Bool {
        decoder.isImmediate && template.options.validation.check == nil && (body.isEmpty || head?.appliedCoding == nil)
    }

    /// The error of the program's own check; nil for a response that it takes. `isWanted` is asked just before the program is: a cancel may have come
    /// while the body was decoded.
    func programsRefusal(_ head: ResponseHead, _ body: Data, isWanted: () -> Bool) -> NetworkError? {
        guard let check = template.options.validation.check, isWanted() else { return nil }
        do {
            try check(head, body)
            return nil
        } catch {
            // `cancelled` is said of runs that were.
            let own = (error as? NetworkError).flatMap { $0.code == .cancelled ? nil : $0 }
            var failure =
                own ?? NetworkError(.unacceptableResponse, phase: .decoding, message: "the program's check: \(error)", underlying: error)
            failure.body = failure.body ?? body.prefix(template.errorBodyBytes)
            return failure
        }
    }

    // MARK: Making

    /// The body with its coding undone; throws `contentDecodingFailed` and `decodingBomb`.
    func decodedBody(_ body: Data, _ head: ResponseHead) throws(NetworkError) -> Data {
        guard !body.isEmpty, let coding = head.appliedCoding else { return body }
        var limits = template.options.limits.decoding
        limits.maxOutputBytes = min(limits.maxOutputBytes ?? .max, template.options.limits.bodyBytes)
        do throws(ContentDecodingError) { return try ContentCoding.decoded(body, coding: coding, limits: limits) } catch {
            throw NetworkError(error)
        }
    }

    /// Makes the value of a response whose status and type are accepted, and whose body is decoded. With `isChecked` the program's check was asked
    /// already, or there is nothing yet that it could be asked about; `isWanted` is asked just before it is.
    ///
    /// - Throws: the error of the program's check, `decodingFailed`.
    func assemble(_ parts: consuming ResponseParts, isChecked: Bool, isWanted: () -> Bool) throws(NetworkError) -> AnyResponse {
        // For the error; a decoder that only hands the body on has none.
        let evidence = decoder.isImmediate ? nil : parts.body
        if !isChecked, let refusal = programsRefusal(parts.head, parts.body, isWanted: isWanted) { throw refusal }
        do { return try decoder.decode(consume parts) } catch {
            var failure = NetworkError(
                .decodingFailed, phase: .decoding, message: DecodingFailure.message(for: error, body: evidence), underlying: error)
            failure.body = evidence?.prefix(template.errorBodyBytes)
            failure.bodyBytes = evidence?.count
            throw failure
        }
    }
}
