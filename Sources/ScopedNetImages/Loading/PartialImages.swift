import FoundationEssentials
import HTTPTypes
import ScopedNet
import SystemSupport

/// The beginning of a file whose transfer broke off, and the means to go on with it (RFC 9110 sections 13.1.5 and 14).
struct PartialImage: Sendable {
    let data: Data
    /// A strong entity tag: with anything weaker two versions could be mixed.
    let tag: String
    let total: Int

    /// Nil for a file that cannot be continued: no ranges, no strong tag, no length, or too little of it.
    ///
    /// - Parameters:
    ///   - data: all that has come, with what `before` had.
    ///   - head: that of the latest response: of the file, or of the rest of `before`.
    ///   - before: the beginning that this one goes on with.
    init?(_ data: Data, head: ResponseHead, after before: PartialImage?) {
        guard Self.mayFollow(head, before), let tag = head["etag"] else { return nil }
        let length = head.status == 206 ? before?.total : head["content-length"].flatMap { Int($0) }
        guard let length, data.count < length, data.count >= 16 << 10 else { return nil }
        // Bytes of its own: those that came are a view of memory for the whole file.
        (self.data, self.tag, total) = (data.withUnsafeBytes { Data($0) }, tag, length)
    }

    /// False where the beginning of a file is of no use later, whatever has come of it.
    static func mayFollow(_ head: ResponseHead?, _ before: PartialImage?) -> Bool {
        guard let head, let tag = head["etag"], !tag.hasPrefix("W/"), head["content-encoding"] == nil else { return false }
        return before?.isContinued(by: head) ?? false || head.status == 200 && head["accept-ranges"]?.lowercased() == "bytes"
    }

    /// The fields that ask for the rest, or for all of it where it has changed.
    var fields: [(String, String)] { [("Range", "bytes=\(data.count)-"), ("If-Range", tag)] }

    /// True for the response that has the rest of this, and not of another version or another part.
    func isContinued(by head: ResponseHead) -> Bool {
        head.status == 206 && head["etag"] == tag && head["content-encoding"] == nil
            && head["content-range"]?.replacing(" ", with: "").lowercased() == "bytes\(data.count)-\(total - 1)/\(total)"
    }

    /// Joins the rest.
    ///
    /// - Returns: nil where the response is not the rest of this.
    func joined(with rest: Data, _ head: ResponseHead) -> Data? {
        isContinued(by: head) && rest.count == total - data.count ? data + rest : nil
    }
}

/// The beginnings of files whose transfers broke off: 32 MiB, the latest ones.
final class PartialImages: Sendable {
    private let list = Lock(RecencyList<ImageTransferKey, PartialImage>())
    private let capacity: Int

    init(capacity: Int = 32 << 20) { self.capacity = capacity }

    var bytes: Int { list.withLock { $0.cost } }

    func put(_ partial: PartialImage, for key: ImageTransferKey) {
        guard partial.data.count <= capacity else { return }
        let gone = list.withLock { list -> [PartialImage] in
            let old = list.put(partial, cost: partial.data.count, for: key)
            return (old.map { [$0] } ?? []) + list.trim(to: capacity)
        }
        _ = gone
    }

    func take(_ key: ImageTransferKey) -> PartialImage? { list.withLock { $0.remove(key) } }

    func removeAll() { _ = list.withLock { $0.trim(to: 0) } }
}
