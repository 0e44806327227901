import HTTPTypes
import Persistence

extension ResponseHead {
    /// `Location`; of lines that all say the same, one.
    var location: String? {
        guard let joined = self["location"] else { return nil }
        let lines = locations(in: joined)
        return lines.count == 1 ? lines.first?.text : joined
    }

    /// There is one place to go to (RFC 9110 section 10.2.2); of two nobody can say which is meant.
    var hasConflictingLocations: Bool { self["location"].map { locations(in: $0).count > 1 } ?? false }

    private func locations(in joined: String) -> Set<ExactString> {
        // Without a comma there is one line, and no other needs to be looked at.
        guard joined.utf8.contains(UInt8(ascii: ",")) else { return [ExactString(joined)] }
        return Set(headers.lines(.location).map { ExactString($0) })
    }
}
