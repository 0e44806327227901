import ScopedNet

/// The place of a load: in the program, and among the loads that were begun before and after it.
struct ImageOrigin: Sendable {
    let fileID: StaticString
    let line: Int
    /// Larger than those of all loads before it. Tasks come to the queues in any order: it says which load was first.
    let number = Identifier.next()

    init(_ fileID: StaticString, _ line: Int) { (self.fileID, self.line) = (fileID, line) }
}
