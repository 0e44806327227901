import HTTPTypes

/// What becomes of a response once its body has come, or has broken off.
extension StoredResponse {
    /// The response to store when the whole body has come, or nil when it contradicts its head and must be dropped.
    ///
    /// `bodyLength` has the bytes that came from the network, those stored before not counted.
    package func completed(bodyLength: Int64) -> StoredResponse? {
        guard case .pending(let pending) = content, bodyLength >= 0 else { return nil }
        switch pending {
        case .whole(let length):
            guard length == nil || length == bodyLength else { return nil }
            return with(.complete(length: bodyLength))
        case .verbatim(let range, let length):
            guard length == nil || length == bodyLength else { return nil }
            return with(.verbatim(range: range, length: bodyLength))
        case .part(let range, let completeLength, let prefix, let suffix):
            guard prefix + bodyLength + suffix == range.count else { return nil }
            return with(range, completeLength)
        }
    }

    /// The part to store when the body has broken off, or nil when nothing can be kept.
    ///
    /// A part can be put together with the rest later, if the server gives ranges and a strong entity tag says that they belong to one
    /// representation (RFC 9111 section 3.3); anything else would be a truncated body that looks whole.
    ///
    /// `bodyLength` has the bytes that came from the network, those stored before not counted.
    package func interrupted(after bodyLength: Int64) -> StoredResponse? {
        guard case .pending(let pending) = content, bodyLength > 0, validators.strongTag != nil else { return nil }
        switch pending {
        case .whole(let length):
            guard head.status == 200, head.fields.members(.acceptRanges).contains(where: { $0.lowercased() == "bytes" }) else { return nil }
            guard let range = ByteRange(0, bodyLength), length.map({ bodyLength < $0 }) ?? true else { return nil }
            return with(.part(range, completeLength: length))
        case .part(let range, let completeLength, let prefix, let suffix):
            // What was to come behind the gap is of no use without it.
            guard prefix + bodyLength + suffix < range.count else { return nil }
            guard let reached = ByteRange(range.start, range.start + prefix + bodyLength) else { return nil }
            return with(.part(reached, completeLength: completeLength))
        case .verbatim: return nil
        }
    }

    private func with(_ content: StoredContent) -> StoredResponse {
        var stored = self
        stored.content = content
        return stored
    }

    /// A part that is the whole is a 200 (RFC 9111 section 3.4).
    private func with(_ range: ByteRange, _ completeLength: Int64?) -> StoredResponse {
        guard let completeLength, range == ByteRange(0, completeLength) else { return with(.part(range, completeLength: completeLength)) }
        var stored = with(.complete(length: completeLength))
        stored.head = stored.head.asWhole(length: completeLength)
        return stored
    }
}

extension CacheHead {
    /// The head of the whole representation that a 206 is a part of.
    func asWhole(length: Int64) -> CacheHead {
        var whole = self
        if status == 206 {
            whole.status = 200
            whole.reason = reason.isEmpty ? "" : "OK"
        }
        whole.fields.remove(.contentRange)
        whole.fields.setText(.contentLength, String(length))
        return whole
    }

    /// The 206 that answers a range out of this representation (RFC 9110 section 15.3.7).
    func asPartial(_ range: ByteRange, completeLength: Int64?) -> CacheHead {
        var partial = self
        partial.status = 206
        if !reason.isEmpty { partial.reason = "Partial Content" }
        partial.fields.setText(.contentRange, ContentRange(range: range, completeLength: completeLength).description)
        partial.fields.setText(.contentLength, String(range.count))
        return partial
    }
}
