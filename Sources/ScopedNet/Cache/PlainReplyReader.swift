/// Reads the fields of a response in one pass over their bytes, as far as they are ordinary.
struct PlainReplyReader {
    private let responseTime: WallTime
    private(set) var fields = FieldWriter()
    private(set) var length: Int64?
    private(set) var vary: String?
    private var control = CacheControl()
    private var age = 0.0
    private var tag: EntityTag?
    private var lastModified: String?
    private var modifiedTime: WallTime?
    private var date: WallTime?
    private var expires = ExpiresField.absent
    private var seen: Once = []

    /// Fields that have a meaning when they come once. Several of one kind are for the rules to judge.
    private struct Once: OptionSet {
        let rawValue: UInt8
        static let age = Once(rawValue: 1)
        static let date = Once(rawValue: 2)
        static let tag = Once(rawValue: 4)
        static let vary = Once(rawValue: 8)
        static let expires = Once(rawValue: 16)
        static let modified = Once(rawValue: 32)
        static let length = Once(rawValue: 64)
    }

    init(responseTime: WallTime) { self.responseTime = responseTime }

    /// - Returns: false when one of them has to be read by the whole grammar.
    mutating func read(_ lines: FieldLines) -> Bool {
        var isOrdinary = true
        lines.forEachLine { name, value in
            isOrdinary = read(name, value)
            return isOrdinary
        }
        guard isOrdinary, fields.count <= StorableFields.maxFields else { return false }
        if !seen.contains(.date) {
            // A recipient with a clock says when a response came that does not say it itself (RFC 9110 section 6.6.1).
            fields.append("Date", responseTime.date.description)
            date = WallTime(responseTime.date)
        }
        return true
    }

    func facts(status: Int) -> StoredFacts {
        let date = date ?? responseTime
        let validators = Validators(tag: tag, lastModified: lastModified, lastModifiedTime: modifiedTime, date: date)
        return StoredFacts(status: status, control, validators, date: date, age: age, expires)
    }

    private mutating func read(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool {
        // Other bytes are stored as the rules' types of text have them.
        guard name.allSatisfy({ $0 > 0x20 && $0 < 0x7f }), value.allSatisfy({ $0 >= 0x20 && $0 < 0x7f || $0 == 0x09 }) else { return false }
        func isNamed(_ known: StaticString) -> Bool { FieldLines.matches(name, known: known) }
        switch name.count {
        case 2 where isNamed("te"), 7 where isNamed("upgrade"), 10 where isNamed("keep-alive"), 16 where isNamed("proxy-connection"),
            17 where isNamed("transfer-encoding"), 18 where isNamed("proxy-authenticate"), 19 where isNamed("proxy-authorization"),
            25 where isNamed("proxy-authentication-info"):
            // About the connection, or for a proxy (RFC 9111 section 3.1).
            return true
        case 10 where isNamed("connection"): return isEmptyConnection(value)
        // `Connection` might list it.
        case 5 where isNamed("close"): return false
        case 3 where isNamed("age"): guard readAge(value) else { return false }
        case 4 where isNamed("date"): guard readDate(value) else { return false }
        case 4 where isNamed("etag"): guard readTag(value) else { return false }
        case 4 where isNamed("vary"): guard readVary(value) else { return false }
        case 7 where isNamed("expires"): guard readExpires(value) else { return false }
        case 13 where isNamed("last-modified"): guard readModified(value) else { return false }
        case 14 where isNamed("content-length"): guard readLength(value) else { return false }
        case 13 where isNamed("cache-control"): control.add(line: value)
        default: break
        }
        fields.append(name, value)
        return true
    }

    /// Names no field but those that are left out anyway.
    private func isEmptyConnection(_ value: UnsafeRawBufferPointer) -> Bool {
        value.count == 10 && FieldLines.matches(value, known: "keep-alive") || value.count == 5 && FieldLines.matches(value, known: "close")
    }

    private mutating func isFirst(_ name: Once) -> Bool { seen.insert(name).inserted }

    private mutating func readAge(_ value: UnsafeRawBufferPointer) -> Bool {
        guard isFirst(.age), let seconds = DeltaSeconds.parse(value) else { return false }
        age = seconds
        return true
    }

    private mutating func readDate(_ value: UnsafeRawBufferPointer) -> Bool {
        date = CacheDate.parse(value, now: responseTime)
        return isFirst(.date)
    }

    private mutating func readTag(_ value: UnsafeRawBufferPointer) -> Bool {
        tag = EntityTag(line: FieldText.text(value))
        return isFirst(.tag)
    }

    private mutating func readVary(_ value: UnsafeRawBufferPointer) -> Bool {
        vary = FieldText.text(value)
        return isFirst(.vary)
    }

    private mutating func readExpires(_ value: UnsafeRawBufferPointer) -> Bool {
        expires = CacheDate.parse(value, now: responseTime).map { .at($0) } ?? .invalid
        return isFirst(.expires)
    }

    private mutating func readModified(_ value: UnsafeRawBufferPointer) -> Bool {
        modifiedTime = CacheDate.parse(value, now: responseTime)
        if modifiedTime != nil { lastModified = FieldText.text(value) }
        return isFirst(.modified)
    }

    private mutating func readLength(_ value: UnsafeRawBufferPointer) -> Bool {
        length = FieldLines.decimal(value[...])
        return isFirst(.length) && length != nil
    }
}
