/// What a JSON document must look like before a program relies on it. (pure)
///
/// ```swift
/// let users: JSONShape = .array(of: ["id": .number, "name": .string, "address": ["city": .string]])
/// session.request(url, decoder: .json(users))
/// ```
///
/// Members an object has besides are of no interest. A member must be there, but may be null, unless it says otherwise; an element of an array
/// may not.
public indirect enum JSONShape: Sendable, Hashable {
    /// Anything, null included.
    case any
    /// A string; an empty one, too.
    case string
    /// A number, with a fraction or without.
    case number
    /// A number without a fraction.
    case integer
    /// True or false.
    case bool
    /// The members that must be there. One that is ``optional(_:)`` may be missing.
    case object([String: JSONShape])
    /// Every element is like this.
    case array(of: JSONShape)
    /// May be missing in an object; may be null anywhere.
    case optional(JSONShape)
    /// May not be null, also in an object.
    case required(JSONShape)

    /// A list longer than this many mismatches says nothing new.
    static let mostMismatches = 20

    /// Where a document is not like this, at most 20 places; empty when it is.
    public func mismatches(in value: JSONValue) -> [JSONShape.Mismatch] {
        var found: [JSONShape.Mismatch] = []
        look(at: value, path: "$", isMember: false, &found)
        return found
    }

    private func look(at value: JSONValue, path: @autoclosure () -> String, isMember: Bool, _ found: inout [JSONShape.Mismatch]) {
        guard found.count < Self.mostMismatches else { return }
        switch (self, value) {
        case (.required(let shape), .null): found.append(JSONShape.Mismatch(path: path(), expected: shape.description, found: value))
        case (.any, _), (.string, .string), (.number, .integer), (.number, .double), (.integer, .integer), (.bool, .bool): return
        case (.optional, .null): return
        case (.optional(let shape), _): shape.look(at: value, path: path(), isMember: false, &found)
        case (.required(let shape), _): shape.look(at: value, path: path(), isMember: false, &found)
        case (_, .null) where isMember: return
        case (.object(let members), .object(let values)): look(at: values, for: members, path: path(), &found)
        case (.array(let shape), .array(let elements)):
            for (index, element) in elements.enumerated() {
                shape.look(at: element, path: "\(path())[\(index)]", isMember: false, &found)
            }
        default: found.append(JSONShape.Mismatch(path: path(), expected: description, found: value))
        }
    }

    private func look(at values: [String: JSONValue], for members: [String: JSONShape], path: String, _ found: inout [JSONShape.Mismatch]) {
        for (name, shape) in members.sorted(by: { $0.key < $1.key }) {
            if let value = values[name] {
                shape.look(at: value, path: "\(path).\(name)", isMember: true, &found)
            } else if case .optional = shape {
                continue
            } else if found.count < Self.mostMismatches {
                found.append(JSONShape.Mismatch(path: "\(path).\(name)", expected: shape.description, found: nil))
            }
        }
    }
}

extension JSONShape: ExpressibleByDictionaryLiteral {
    /// Of equal names the last one counts.
    public init(dictionaryLiteral elements: (String, JSONShape)...) {
        self = .object(Dictionary(elements, uniquingKeysWith: { _, last in last }))
    }
}

extension JSONShape: CustomStringConvertible {
    /// The shape in words, as mismatches show it, such as `an array`.
    public var description: String {
        switch self {
        case .any: "anything"
        case .string: "a string"
        case .number: "a number"
        case .integer: "an integer"
        case .bool: "a boolean"
        case .object: "an object"
        case .array: "an array"
        case .optional(let shape): "\(shape) or nothing"
        case .required(let shape): "\(shape)"
        }
    }
}

extension JSONShape {
    /// One place where a document is not what was expected.
    public struct Mismatch: Sendable, Hashable, CustomStringConvertible {
        /// Members and indices from the top, which is `$`: `$.users[3].name`.
        public let path: String
        /// The shape in words, such as `a string`.
        public let expected: String
        /// Nil when it is missing.
        public let found: JSONValue?

        /// The path, what was expected there and the kind of value that was found. The value itself is not shown.
        public var description: String {
            guard let found else { return "\(path) is missing, and should be \(expected)" }
            return "\(path) should be \(expected), and is \(found.kind)"
        }
    }
}

extension JSONShape {
    /// A document is well-formed JSON, and not what was expected.
    public struct ShapeError: Error, CustomStringConvertible {
        /// The mismatches in the order of the shape, at most 20.
        public let mismatches: [JSONShape.Mismatch]

        /// All mismatches in one line.
        public var description: String { mismatches.map(\.description).joined(separator: "; ") }
    }
}

extension JSONValue {
    var isFragment: Bool {
        switch self {
        case .array, .object: false
        default: true
        }
    }

    fileprivate var kind: String {
        switch self {
        case .null: "null"
        case .bool: "a boolean"
        case .integer, .double: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}
