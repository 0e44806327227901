import HTTPTypes

@testable import ScopedNet

extension PartRecord {
    static let sampleURL = "http://a.test/file?v=1"
    static let sampleDate = "Sat, 05 Nov 1994 08:49:37 GMT"

    /// 1000 bytes with the tag "v1", of which some are there.
    static func sample(tag: String? = "\"v1\"", lastModified: String? = nil, total: Int64? = 1000) -> PartRecord {
        var record = PartRecord(name: "file", url: sampleURL, finalURL: sampleURL, fields: [:])
        record.tag = tag
        record.lastModified = lastModified
        record.total = total
        return record
    }
}
