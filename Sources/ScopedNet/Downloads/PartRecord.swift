package import FoundationEssentials
import HTTPTypes
import Persistence

/// Where a part of a file came from: what has to be the same for the rest to be the rest of the same file. (pure)
///
/// The record is written before the first byte. How much there is, the part itself says as long as the machine runs; after a loss of power its file may be
/// longer than what came to the device, so that only counts what the record says was brought there before.
package struct PartRecord: Sendable, Equatable, Codable {
    package static let currentVersion = 1
    /// Larger files are none of ours.
    package static let mostBytes = 64 << 10

    package var version = Self.currentVersion
    /// Of the target, without its folder: a folder that is moved as a whole takes its downloads along.
    package var name: String
    /// As asked for, without userinfo.
    package var url: String
    /// That answered, after redirects.
    package var finalURL: String
    /// Of the request, those that choose between representations.
    package var fields: [String: String]
    /// Strong (RFC 9110 section 8.8.3), as in the field.
    package var tag: String?
    /// As in the field; only where there is no tag, and strong by RFC 9110 section 8.8.2.2.
    package var lastModified: String?
    /// Nil when the server did not say.
    package var total: Int64?
    package var contentType: String?
    /// How many bytes of the part are on the device (fdatasync(2)). Nil for none.
    package var synchronized: Int64?
    /// The start of the machine in which the part was written (``MachineBoot``).
    package var boot: String?

    package init(name: String, url: String, finalURL: String, fields: [String: String]) {
        self.name = name
        self.url = url
        self.finalURL = finalURL
        self.fields = fields
    }

    /// The value of `If-Range` (RFC 9110 section 13.1.5): a strong validator, never a weak one.
    package var validator: String? { tag ?? lastModified }

    /// The fields of a request that choose between resources and their representations. Who asks (`Authorization`, `Cookie`) is not among them:
    /// the validator tells whether that has changed the answer.
    package static func choosingFields(_ fields: HTTPFields) -> [String: String] {
        var chosen: [String: String] = [:]
        for name in [HTTPField.Name.hostField, .accept, .acceptLanguage, .acceptEncoding] where fields.contains(name) {
            chosen[name.canonicalName] = fields.lines(name).joined(separator: ", ")
        }
        return chosen
    }

    /// The same request for the same file.
    package func isOf(_ request: PartRecord) -> Bool {
        name.hasSameBytes(as: request.name) && url.hasSameBytes(as: request.url) && fields == request.fields
    }

    /// The same version of the same file, however much there is of it.
    package func isOfSameVersion(as other: PartRecord) -> Bool {
        var same = self
        (same.synchronized, same.boot) = (other.synchronized, other.boot)
        return same == other
    }

    /// Whether another URL answers for the same file. Queries may differ: those of signed URLs do each time, and the validator has to be
    /// the same as well.
    package func isAnswered(by other: String) -> Bool {
        func place(_ url: String) -> Substring { url[..<(url.utf8.firstIndex(of: UInt8(ascii: "?")) ?? url.endIndex)] }
        return place(finalURL).utf8.elementsEqual(place(other).utf8)
    }

    /// Counts the bytes of the part that hold what the server sent.
    ///
    /// `size` is that of the part's file, and `boot` names the present start of the machine; nil where that is not known.
    package func knownBytes(size: Int64, boot: String?) -> Int64 {
        if let boot, boot == self.boot { return size }
        return min(size, synchronized ?? 0)
    }

    // MARK: As a file

    package func encoded() -> Data? { try? JSONEncoder().encode(self) }

    /// Nil for what is no record, or one that could not have been written: what is sent to a server must be fit for a field.
    package init?(_ data: Data) {
        guard data.count <= Self.mostBytes, let record = try? JSONDecoder().decode(PartRecord.self, from: data), record.isSound else {
            return nil
        }
        self = record
    }

    private var isSound: Bool {
        guard version == Self.currentVersion, total ?? 0 >= 0, synchronized ?? 0 >= 0, !name.utf8.contains(0),
            PartNames(target: name)?.folder.isEmpty == true
        else { return false }
        if let tag { return lastModified == nil && EntityTag(tag).map { !$0.isWeak } ?? false }
        return lastModified.flatMap { CacheDate.parse($0, now: WallTime(secondsSince1970: 0)) } != nil
    }
}
