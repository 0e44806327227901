import FoundationEssentials
import HTTPTypes
import Persistence
import ScopedNet

/// A stored response as JSON, and what the table and the page are made from.
struct CacheReport: Encodable, Sendable {
    struct Field: Encodable, Sendable {
        let name: String
        let value: String
    }

    let url: String
    let method: String
    let partition: String
    let status: Int
    let type: String?
    /// Of the stored body, in bytes, as the server encoded it.
    let bytes: Int
    /// Of the whole, where a part is stored.
    let wholeBytes: Int64?
    let isPart: Bool
    let isFile: Bool
    /// What it takes on disk.
    let diskBytes: Int
    /// `fresh`, `stale` or `validate`.
    let state: String
    /// For how long still, or since when. In seconds.
    let seconds: Double?
    /// In seconds, as a served response would say it.
    let age: Double
    /// In seconds; where it is from is in `lifetimeSource`.
    let lifetime: Double
    let lifetimeSource: String
    let hasValidators: Bool
    let storedAt: String
    let lastUsed: String
    let sinceStored: Double
    let vary: [String]
    /// Of the whole record only.
    let headers: [Field]?
}

extension CacheReport {
    init(_ record: CacheRecord, now: WallTime, showsSecrets: Bool, isFull: Bool = false) {
        let (summary, head) = (record.summary, record.response.head)
        let mask = SecretMask()
        url = showsSecrets ? record.key : mask.maskedURL(record.key)
        method = record.method
        partition = summary.key.partition
        status = head.status
        type = head.fields[.contentType].map { String($0.prefix { $0 != ";" }) }
        bytes = summary.bodyLength
        wholeBytes = record.wholeLength
        isPart = record.isPart
        isFile = summary.isFile
        diskBytes = summary.cost
        switch record.state(now: now) {
        case .fresh(let left): (state, seconds) = ("fresh", left)
        case .stale(let since): (state, seconds) = ("stale", since.isFinite ? since : nil)
        case .validatedAlways: (state, seconds) = ("validate", nil)
        }
        let freshness = record.freshness(now: now)
        age = freshness.age
        lifetime = freshness.lifetime
        lifetimeSource = "\(freshness.source)"
        hasValidators = record.hasValidators
        storedAt = summary.storedAt.formatted(.iso8601)
        lastUsed = summary.lastUsed.formatted(.iso8601)
        sinceStored = max(0, now.secondsSince1970 - summary.storedAt.timeIntervalSince1970)
        vary = record.response.vary.names
        headers =
            isFull
            ? head.fields.map { field in
                let name = field.name.rawName
                return Field(name: name, value: showsSecrets ? field.value : ShownField.value(field.value, of: name))
            } : nil
    }
}
