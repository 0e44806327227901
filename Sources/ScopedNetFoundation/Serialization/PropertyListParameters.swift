public import Foundation
public import ScopedNet

extension ParameterSerializer {
    /// `application/x-plist`. GET, HEAD and DELETE put their parameters into the URL, as with the other serializers; a request without parameters
    /// has neither body nor type.
    ///
    /// Property lists know no null and no sets; what holds either is `invalidParameters`, and so are numbers that are not finite.
    ///
    /// The format is XML by default; `.openStep` cannot be written.
    public static func propertyList(_ format: PropertyListSerialization.PropertyListFormat = .xml) -> ParameterSerializer {
        .custom(contentType: RequestBody.propertyListType) { parameters in
            let object = try PropertyListObject.make(.object(parameters.values))
            return try PropertyListSerialization.data(fromPropertyList: object, format: format, options: 0)
        }
    }
}

extension RequestBody {
    static let propertyListType = "application/x-plist"

    /// A property list (`application/x-plist`) of any `Encodable` value. It is encoded here, on the caller's thread. Can be sent again.
    ///
    /// - Throws: what the encoder throws.
    public static func propertyList(
        _ value: some Encodable, format: PropertyListSerialization.PropertyListFormat = .xml
    ) throws -> RequestBody {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = format
        return .data(try encoder.encode(value), contentType: propertyListType)
    }
}

/// Parameters as Foundation's objects. (pure)
private enum PropertyListObject {
    struct Refusal: Error, CustomStringConvertible {
        let description: String
    }

    static func make(_ value: ParameterValue, depth: Int = 0) throws -> Any {
        guard depth <= 512 else { throw Refusal(description: "the parameters are nested more than 512 levels deep") }
        switch value {
        case .null: throw Refusal(description: "a property list has no null")
        case .set: throw Refusal(description: "a property list has no sets")
        case .bool(let value): return value
        case .integer(let value): return value
        case .double(let value):
            guard value.isFinite else { throw Refusal(description: "a number is not finite") }
            return value
        case .string(let value): return value
        case .data(let value): return value
        case .array(let elements): return try elements.map { try make($0, depth: depth + 1) }
        case .object(let members): return try members.mapValues { try make($0, depth: depth + 1) }
        }
    }
}
