import HTTPTypes

/// What a response means for the part of a file that is there already (RFC 9110 sections 13.1.5, 14.4, 15.3.7 and 15.5.17). (pure)
package enum ResumeDecision: Sendable, Equatable {
    /// The body goes on where the part ends. It ends at `end`, the file at `total`.
    case append(end: Int64, total: Int64)
    /// The body is the whole file, from its first byte. Without a record it cannot be resumed later.
    case restart(PartRecord?)
    /// The part is the whole file.
    case complete
    /// What came does not fit the part: the whole file is to be asked for.
    case again(Misfit)
    /// A part that nobody asked for. To take it for the file would be wrong.
    case refuse
    /// Not the file: an error, or what leads elsewhere. The part stays, unless the file is gone for good.
    case other(isGone: Bool)

    /// Why the rest of a file is not the rest of the part.
    package enum Misfit: String, Sendable {
        case noRange = "it does not say which bytes it has"
        case otherStart = "it begins at another byte"
        case otherTotal = "the file has another length"
        case otherLength = "its length is not that of its range"
        case otherValidator = "the file has changed"
        case noValidator = "it does not say of which version it is"
        case otherPlace = "another URL has answered"
        case coded = "it has a content coding"
        case multipart = "it is a multipart message"
        case nothingLeft = "the server has no such bytes"
    }
}

/// A part, and what was asked of the server for it.
package struct PartRequest: Sendable, Equatable {
    package var record: PartRecord
    /// `Range: bytes=offset-`. Never zero.
    package var offset: Int64
    /// Of the part: the offset, or one byte more where the part is as long as the file. Nothing is to be had from the end of a file (416), so
    /// that its last byte is asked for again, and with it whether the file is still the same.
    package var size: Int64

    /// Nil when there is nothing to go on with.
    package init?(_ record: PartRecord, size: Int64) {
        guard record.validator != nil, size <= record.total ?? .max else { return nil }
        let offset = size == record.total ? size - 1 : size
        guard offset > 0 else { return nil }
        self.record = record
        self.offset = offset
        self.size = size
    }
}

extension ResumeDecision {
    /// Decides about a response.
    ///
    /// - Parameters:
    ///   - head: the response's.
    ///   - asked: the part that the request was for; nil when it was for the whole file.
    ///   - request: the beginning of a new record; its ``PartRecord/finalURL`` is the URL that answered.
    ///   - now: the wall clock.
    package init(_ head: CacheHead, asked: PartRequest?, request: PartRecord, now: WallTime) {
        switch head.status {
        case 200: self = .restart(PartRecord(of: head, request, now: now))
        case 206:
            guard let asked else {
                self = .refuse
                return
            }
            self = Self.joining(head, asked, request)
        case 416:
            guard let asked else {
                self = .other(isGone: false)
                return
            }
            self = Self.isWhole(head, asked, request) ? .complete : .again(.nothingLeft)
        default: self = .other(isGone: head.status == 404 || head.status == 410)
        }
    }

    private static func joining(_ head: CacheHead, _ asked: PartRequest, _ request: PartRecord) -> ResumeDecision {
        if head.isMultipartRanges { return .again(.multipart) }
        guard let content = ContentRange(head.fields), let range = content.range else { return .again(.noRange) }
        if range.start != asked.offset { return .again(.otherStart) }
        let total = asked.record.total ?? content.completeLength
        if let told = content.completeLength, told != total { return .again(.otherTotal) }
        // A range may be shorter than was asked for (RFC 9110 section 15.3.7): without a total nobody could tell a piece from the rest.
        guard let total else { return .again(.otherTotal) }
        if range.end > total { return .again(.otherTotal) }
        if head.fields.contains(.contentLength), head.contentLength != range.count { return .again(.otherLength) }
        if head.isCoded { return .again(.coded) }
        if !asked.record.isAnswered(by: request.finalURL) { return .again(.otherPlace) }
        if let misfit = misfit(head, asked.record, hasTotal: content.completeLength != nil) { return .again(misfit) }
        return .append(end: range.end, total: total)
    }

    private static func misfit(_ head: CacheHead, _ record: PartRecord, hasTotal: Bool) -> Misfit? {
        if let known = record.tag.flatMap({ EntityTag($0) }) {
            // A 206 has it, if a 200 would (RFC 9110 section 15.3.7): one without comes from a server that did not look.
            guard let tag = EntityTag(of: head.fields) else { return .noValidator }
            return tag.matchesStrongly(known) ? nil : .otherValidator
        }
        // The date need not be repeated; then the length of the file has to be.
        guard head.fields.contains(.lastModified) else { return hasTotal && record.total != nil ? nil : .noValidator }
        return head.fields.onlyLine(.lastModified) == record.lastModified ? nil : .otherValidator
    }

    /// A 416 says how long the file is, and which version that is, or it says nothing.
    private static func isWhole(_ head: CacheHead, _ asked: PartRequest, _ request: PartRecord) -> Bool {
        guard let content = ContentRange(head.fields), content.range == nil, content.completeLength == asked.size,
            // What the first response said of its length holds: the end of a part is not the end of the file.
            asked.record.total ?? asked.size == asked.size, asked.record.isAnswered(by: request.finalURL)
        else { return false }
        if let known = asked.record.tag.flatMap({ EntityTag($0) }) {
            return EntityTag(of: head.fields)?.matchesStrongly(known) ?? false
        }
        return head.fields.onlyLine(.lastModified) == asked.record.lastModified
    }
}

extension PartRecord {
    /// Of a complete response; nil when a part of it could not be gone on with.
    init?(of head: CacheHead, _ request: PartRecord, now: WallTime) {
        guard head.status == 200, !head.isCoded, !head.isMultipartRanges else { return nil }
        // `none` alone is an answer (RFC 9110 section 14.3); who says nothing may well have ranges.
        if head.fields.members(.acceptRanges).contains(where: { $0.lowercased() == "none" }) { return nil }
        self = request
        let validators = Validators(head, now: now)
        if let strong = validators.strongTag {
            tag = strong.description
        } else if validators.isLastModifiedStrong {
            lastModified = validators.lastModified
        }
        guard validator != nil else { return nil }
        total = head.contentLength
        contentType = head.fields.onlyLine(.contentType)
    }

    /// The head of the whole file (RFC 9110 section 15.3.7.3), as the 200 had it that the part came with.
    package func wholeHead(_ head: CacheHead, length: Int64) -> CacheHead {
        var whole = head
        whole.status = 200
        whole.reason = "OK"
        whole.fields.remove(.contentRange)
        whole.fields.setText(.contentLength, String(length))
        if let contentType, !whole.fields.contains(.contentType) { whole.fields.setText(.contentType, contentType) }
        if let lastModified, !whole.fields.contains(.lastModified) { whole.fields.setText(.lastModified, lastModified) }
        return whole
    }
}

extension CacheHead {
    fileprivate var isCoded: Bool { fields.members(.contentEncoding).contains { $0.lowercased() != "identity" } }

    /// Several ranges in one message, with boundaries between them.
    fileprivate var isMultipartRanges: Bool {
        fields.onlyLine(.contentType).map { FieldText.trimmed($0[...]).lowercased().hasPrefix("multipart/byteranges") } ?? false
    }
}
