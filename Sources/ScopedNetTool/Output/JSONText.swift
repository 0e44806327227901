import FoundationEssentials

/// One JSON document on one line, members in the order of their names.
enum JSONText {
    static func line(_ value: some Encodable) throws(ToolFailure) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do { return String(decoding: try encoder.encode(value), as: UTF8.self) } catch {
            throw ToolFailure(.software, "this cannot be written as JSON")
        }
    }
}
