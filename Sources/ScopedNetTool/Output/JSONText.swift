import FoundationEssentials
import ScopedNet

/// One JSON document on one line, members in the order of their names.
enum JSONText {
    static func line(_ value: some Encodable) throws(ToolFailure) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do { return escaped(String(decoding: try encoder.encode(value), as: UTF8.self)) } catch {
            throw ToolFailure(.software, "this cannot be written as JSON")
        }
    }

    /// The same document with `\u` escapes for the characters that steer a terminal and that JSON
    /// lets stand (pure): C1 controls, DEL, line separators and marks of the reading direction.
    ///
    /// Outside of strings a JSON document holds none of them, so a replacement never changes its meaning.
    static func escaped(_ json: String) -> String {
        guard !json.unicodeScalars.allSatisfy(\.isPrintable) else { return json }
        var text = ""
        for scalar in json.unicodeScalars {
            // All of them lie in the Basic Multilingual Plane: one escape of four digits is enough.
            if scalar.isPrintable {
                text.unicodeScalars.append(scalar)
            } else {
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }
        }
        return text
    }
}
