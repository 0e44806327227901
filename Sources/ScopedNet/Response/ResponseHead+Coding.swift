import HTTPTypes

extension ResponseHead {
    /// The content coding to undo; nil for none.
    ///
    /// A range is one of the coded bytes (RFC 9110 section 14.2), and without those before it nothing can be decoded: the bytes of a 206 stay as
    /// they came, unless they are all there are.
    package var appliedCoding: String? {
        guard let coding = contentEncoding else { return nil }
        return status == 206 && !isWholeRange ? nil : coding
    }

    private var isWholeRange: Bool {
        guard let field = self["content-range"], let content = ContentRange(field), let range = content.range else { return false }
        return range.start == 0 && range.end == content.completeLength
    }
}
