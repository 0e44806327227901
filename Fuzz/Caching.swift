import FoundationEssentials
import HTTPTypes

@testable import ScopedNet

private let now = WallTime(secondsSince1970: 1_800_000_000)
private let hashSecret: SecretHash = { bytes in "hash of \(bytes.count)" }

extension UnsafeRawBufferPointer {
    /// One field of this name for each line.
    fileprivate func fields(_ name: HTTPField.Name) -> HTTPFields {
        var fields = HTTPFields()
        for line in split(separator: 0x0A, omittingEmptySubsequences: false) { fields.append(HTTPField(name: name, value: Array(line))) }
        return fields
    }

    /// Lines of `Name: value`.
    fileprivate var fields: HTTPFields {
        var fields = HTTPFields()
        for line in split(separator: 0x0A) {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")),
                let name = HTTPField.Name(String(decoding: line[..<colon], as: UTF8.self))
            else {
                continue
            }
            fields.append(HTTPField(name: name, value: Array(line[(colon + 1)...])))
        }
        return fields
    }
}

/// `Cache-Control` of any form: times are times, and a further line makes it stricter, never looser (RFC 9111 section 4.2.1).
@Sendable func fuzzCacheControl(_ input: UnsafeRawBufferPointer) {
    let fields = input.fields(.cacheControl)
    var earlier = HTTPFields()
    for field in fields {
        let loose = CacheControl(earlier)
        earlier.append(field)
        let strict = CacheControl(earlier)
        for seconds in [strict.maxAge, strict.staleIfError, strict.staleWhileRevalidate, strict.minFresh].compactMap(\.self) {
            check((0...DeltaSeconds.largest).contains(seconds), "\(seconds) seconds")
        }
        if let maxStale = strict.maxStale {
            check(maxStale == .infinity || (0...DeltaSeconds.largest).contains(maxStale), "max-stale is \(maxStale)")
        }
        for (before, after) in [
            (loose.maxAge, strict.maxAge), (loose.staleIfError, strict.staleIfError),
            (loose.staleWhileRevalidate, strict.staleWhileRevalidate),
            (loose.maxStale, strict.maxStale), (strict.minFresh, loose.minFresh ?? 0),
        ] {
            if let before { check((after ?? .infinity) <= before, "\(earlier) is looser than without its last line") }
        }
        check(!loose.noStore || strict.noStore, "no-store got lost")
        check(!loose.noCache || strict.noCache, "no-cache got lost")
        check(loose.noCacheFields.allSatisfy(strict.noCacheFields.contains), "a field of no-cache got lost")
        check(!loose.mustRevalidate || strict.mustRevalidate, "must-revalidate got lost")
    }
}

/// `Vary` and the fields it names: a rule fits the request it was made for, stays bounded, and keeps no secret.
@Sendable func fuzzVary(_ input: UnsafeRawBufferPointer) {
    let parts = input.split(separator: 0, maxSplits: 2, omittingEmptySubsequences: false).map { UnsafeRawBufferPointer(rebasing: $0) }
    guard parts.count == 3 else { return }
    var mine = CacheRequest(url: "http://a.test/", fields: parts[1].fields)
    let others = CacheRequest(url: "http://a.test/", fields: parts[2].fields)
    let secret = "a-secret-nobody-may-read"
    mine.fields.append(HTTPField(name: .authorization, value: secret))
    guard var rule = VaryRule(parts[0].fields(.vary), for: mine, hashSecret: hashSecret) else { return }
    check(rule.names.count <= VaryRule.maxNames && rule.names == Set(rule.names).sorted(), "the names are \(rule.names)")
    check(rule.names.allSatisfy { FieldText.isToken($0[...]) && $0 == $0.lowercased() }, "the names are \(rule.names)")
    check(rule.matches(mine, hashSecret: hashSecret), "\(rule) does not fit the request it was made for")
    let fits = rule.matches(others, hashSecret: hashSecret)
    for _ in 0..<2 { rule.extend(to: others, hashSecret: hashSecret) }
    check(rule.matches(others, hashSecret: hashSecret) && rule.matches(mine, hashSecret: hashSecret), "\(rule) forgot a request")
    check(rule.selections.count == (fits ? 1 : 2), "\(rule) counts a request twice")
    check(!rule.selections.contains { $0.contains { $0?.contains(secret) ?? false } }, "\(rule) keeps a secret")
}

/// `Date`, `Age`, `Expires`, `Last-Modified` and the rest of a head: a response is of an age that fits into the field, and never fresh for
/// longer than that can say.
@Sendable func fuzzFreshness(_ input: UnsafeRawBufferPointer) {
    guard let (choice, rest) = input.split else { return }
    let statuses = [200, 203, 206, 301, 302, 404, 500, 304]
    let head = CacheHead(status: statuses[choice % 8], fields: rest.fields)
    if let age = AgeField.parse(head.fields) { check((0...DeltaSeconds.largest).contains(age), "Age is \(age)") }
    for line in head.fields.lines(.date) {
        if let date = CacheDate.parse(line, now: now) {
            check(CacheDate.parse(date.date.description, now: now) == date, "\(line) became \(date.date)")
        }
    }
    let stored = StoredResponse(
        head: head, method: .get, requestTime: now + Double(choice >> 3), responseTime: now + Double(choice >> 4),
        vary: VaryRule(names: [], selections: [[]]), content: .complete(length: 1))
    for elapsed in [-1e9, 0, 1, 86_400, 1e18] {
        let freshness = Freshness(stored, now: now + elapsed, policy: .standard)
        check((0...DeltaSeconds.largest).contains(freshness.age), "the age is \(freshness.age)")
        check(freshness.lifetime >= 0 && freshness.lifetime.isFinite, "the lifetime is \(freshness.lifetime)")
        check(freshness.isFresh == (freshness.staleness == 0 && freshness.remaining > 0), "fresh and stale at once")
        check(AgeField.text(freshness.age).utf8.allSatisfy { (0x30...0x39).contains($0) }, "Age would be \(AgeField.text(freshness.age))")
        _ = freshness.wholeSecondsLeft
    }
    _ = stored.horizon(.standard)
}

/// `Content-Range`, `Range`, `ETag` and lists of tags: what is read is written so that it is read the same, and ranges lie within their length.
@Sendable func fuzzRanges(_ input: UnsafeRawBufferPointer) {
    let text = input.text
    if let range = ContentRange(text) {
        check(ContentRange(range.description) == range, "\(text) became \(range)")
        if let held = range.range, let length = range.completeLength { check(held.end <= length, "\(text) goes beyond its length") }
    }
    if case .single(let spec) = RangeField(text) {
        for length in [Int64(0), 1, 5, 1_000, .max] {
            if let range = spec.resolved(length: length) {
                check(0 <= range.start && range.end <= length, "\(text) of \(length) bytes is \(range)")
            }
        }
        _ = spec.resolvedWithoutLength
    }
    if let tag = EntityTag(text) {
        check(EntityTag(tag.description) == tag, "\(text) became \(tag)")
        check(tag.matchesWeakly(tag) && tag.matchesStrongly(tag) == !tag.isWeak, "\(tag) is not itself")
    }
    for tag in EntityTag.list(text) { check(EntityTag.list(tag.description) == [tag], "\(tag) became \(EntityTag.list(tag.description))") }
}

/// What the store keeps beside a body: any bytes are refused, or read so that they are written and read again the same.
@Sendable func fuzzStoredResponse(_ input: UnsafeRawBufferPointer) {
    guard let stored = StoredResponse(decoding: Data(input)) else { return }
    check((100...999).contains(stored.head.status), "the status is \(stored.head.status)")
    if case .pending = stored.content { fatalError("a body that is still coming was read") }
    if let length = stored.content.length { check(length >= 0, "\(length) bytes") }
    let again = StoredResponse(decoding: stored.encoded())
    check(again == stored, "\(stored) became \(again.map { "\($0)" } ?? "nothing")")
    let freshness = Freshness(stored, now: now, policy: .standard)
    check((0...DeltaSeconds.largest).contains(freshness.age), "the age is \(freshness.age)")
}

/// The record of a part and the head that answers to its request: what is read goes into a field and a path, and a body is appended only where the
/// part ends.
@Sendable func fuzzResume(_ input: UnsafeRawBufferPointer) {
    guard let (choice, rest) = input.split else { return }
    let parts = rest.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false).map { UnsafeRawBufferPointer(rebasing: $0) }
    guard parts.count == 2, let record = PartRecord(Data(parts[0])) else { return }
    check(PartRecord(record.encoded() ?? Data()) == record, "\(record) is read as another")
    check(!record.name.utf8.contains(UInt8(ascii: "/")) && !["", ".", ".."].contains(record.name), "the name is \(record.name)")
    let validator = record.validator ?? "\n"
    check(!validator.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F }, "the validator is no field: \(validator)")
    let head = CacheHead(status: [206, 200, 416, 404, 503][choice % 5], fields: parts[1].fields)
    for size in [Int64(1), 400, record.total ?? 7, .max] {
        let asked = PartRequest(record, size: size)
        if let asked { check(0 < asked.offset && asked.offset <= size && size <= record.total ?? .max, "asks from \(asked.offset)") }
        switch ResumeDecision(head, asked: asked, request: record, now: now) {
        case .append(let end, let total):
            guard let asked else { fatalError("the rest of nothing") }
            check(head.status == 206 && asked.offset < end && end <= total, "\(asked.offset)..<\(end) of \(total)")
        case .complete: check(head.status == 416 && asked != nil, "complete without having asked")
        case .restart(let made): check(head.status == 200 && made?.validator != "", "a record without a validator")
        case .again: check(asked != nil, "again without having asked")
        case .refuse: check(asked == nil, "what was asked for is refused")
        case .other: check(head.status != 200 && head.status != 206, "the file is not taken")
        }
    }
}
