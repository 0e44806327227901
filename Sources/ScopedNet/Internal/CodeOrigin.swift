/// The place in the user's code where something was made.
package struct CodeOrigin: Sendable, CustomStringConvertible {
    package let fileID: StaticString
    /// As small as this, it takes no place of its own: each closure of each waiting run has one.
    package let line: Int32

    package init(_ fileID: StaticString, _ line: Int) {
        self.fileID = fileID
        self.line = Int32(clamping: line)
    }

    package var description: String { "\(fileID):\(line)" }
}
