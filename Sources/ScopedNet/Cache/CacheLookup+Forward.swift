import HTTPTypes

/// The requests that are sent in place of an answer.
extension CacheLookup {
    /// As the caller wants it.
    func plain(_ reason: ResponseCache.Status.ForwardReason) -> CacheForward {
        CacheForward(lookup: self, request: withReload(request), reason: reason)
    }

    /// With conditions that make a 304 possible (RFC 9111 section 4.3.1).
    func validation(_ reason: ResponseCache.Status.ForwardReason, of index: Int, isBeside: Bool) -> CacheForward {
        var forward = CacheForward(lookup: self, request: withReload(request), reason: reason)
        forward.selected = index
        forward.isBeside = isBeside
        // A HEAD has nothing to save by a 304, and its response refreshes the stored one just as well.
        guard request.method == .get else { return forward }
        forward.addConditions(candidates[index].validators, index)
        return forward
    }

    /// For values of the varying fields that nothing is stored for: the server may say by a 304 that one of the others is right (section 4.1).
    func variantValidation() -> CacheForward {
        var forward = CacheForward(lookup: self, request: withReload(request), reason: .varyMiss)
        guard request.method == .get, !request.hasCondition, !request.fields.contains(.range) else { return forward }
        let usable = candidates.indices.filter { index in
            let candidate = candidates[index]
            guard case .complete = candidate.content, candidate.version == policy.version else { return false }
            return candidate.sensitiveValue == strategy.sensitiveHash && candidate.validators.tag != nil
        }
        let newest = usable.sorted { StoredResponse.isOlder(candidates[$1], candidates[$0]) }.prefix(policy.variantLimit)
        forward.addTags(of: Array(newest))
        return forward
    }

    /// For the rest of a beginning (section 3.4). `If-Range` makes the server send the whole when it is another representation by now.
    func completion(of index: Int) -> CacheForward {
        var forward = CacheForward(lookup: self, request: withReload(request), reason: .partial)
        guard case .part(let held, _) = candidates[index].content, let tag = candidates[index].validators.strongTag else { return forward }
        forward.request.fields.setText(.range, "bytes=\(held.end)-")
        forward.request.fields.setText(.ifRange, tag.description)
        // Bytes that are not coded are gone on with by such bytes.
        if !candidates[index].head.fields.contains(.contentEncoding) { forward.request.fields.setText(.acceptEncoding, "identity") }
        forward.completing = index
        forward.selected = selected
        return forward
    }

    /// Caches on the way must ask the server too (RFC 9111 section 5.2.1.1).
    private func withReload(_ request: CacheRequest) -> CacheRequest {
        guard policy.read == .revalidate, !request.fields.contains(.cacheControl) else { return request }
        var reload = request
        reload.fields.setText(.cacheControl, "max-age=0")
        return reload
    }
}

extension CachePolicy {
    /// ``maxVariants``, and at least one.
    var variantLimit: Int { max(1, maxVariants) }
}
