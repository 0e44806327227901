import FoundationEssentials

/// Makes a ``ParameterValue`` of an `Encodable`. (pure)
struct ParameterEncoder {
    let dates: Parameters.Dates

    func encode(_ value: some Encodable) throws(NetworkError) -> ParameterValue {
        let node = ParameterNode()
        do {
            try ParameterNodeEncoder(node: node, dates: dates, codingPath: []).write(value)
            return try node.value()
        } catch let error as NetworkError {
            throw error
        } catch let error as EncodingError {
            throw .invalidParameters("\(type(of: value)) cannot be written as parameters: \(error.shortText)", underlying: error)
        } catch {
            throw .invalidParameters("\(type(of: value)) cannot be written as parameters", underlying: error)
        }
    }
}

extension EncodingError {
    /// Where and why, without the value: it may be a secret.
    var shortText: String {
        guard case .invalidValue(_, let context) = self else { return "it is not valid" }
        let path = context.codingPath.map(\.stringValue).joined(separator: ".")
        return path.isEmpty ? context.debugDescription : "\(path): \(context.debugDescription)"
    }
}

/// A place in the value that is being made: containers are handed out before they are filled.
private final class ParameterNode {
    private enum Content {
        case empty
        case value(ParameterValue)
        case array([ParameterNode])
        case object([String: ParameterNode])
    }
    private var content = Content.empty

    func set(_ value: ParameterValue) { content = .value(value) }

    func beginObject() {
        if case .object = content { return }
        content = .object([:])
    }

    func beginArray() {
        if case .array = content { return }
        content = .array([])
    }

    var count: Int { if case .array(let elements) = content { elements.count } else { 0 } }

    func append(_ node: ParameterNode = ParameterNode()) -> ParameterNode {
        if case .array(var elements) = content {
            content = .empty
            elements.append(node)
            content = .array(elements)
        }
        return node
    }

    func member(_ key: String) -> ParameterNode {
        guard case .object(var members) = content else { return ParameterNode() }
        if let known = members[key] { return known }
        let node = ParameterNode()
        content = .empty
        members[key] = node
        content = .object(members)
        return node
    }

    /// An `encode(to:)` that writes nothing is an empty object, as `JSONEncoder` has it.
    func value() throws -> ParameterValue {
        switch content {
        case .empty: .object([:])
        case .value(let value): value
        case .array(let elements): .array(try elements.map { try $0.value() })
        case .object(let members): .object(try members.mapValues { try $0.value() })
        }
    }
}

private struct ParameterNodeEncoder: Encoder, SingleValueEncodingContainer {
    let node: ParameterNode
    let dates: Parameters.Dates
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        node.beginObject()
        return KeyedEncodingContainer(ParameterKeyedContainer(encoder: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        node.beginArray()
        return ParameterUnkeyedContainer(encoder: self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { self }

    func at(_ node: ParameterNode, _ key: any CodingKey) -> ParameterNodeEncoder {
        ParameterNodeEncoder(node: node, dates: dates, codingPath: codingPath + [key])
    }

    /// What has a form of its own here, and else what `encode(to:)` makes of it.
    func write<Value: Encodable>(_ value: Value) throws {
        guard codingPath.count <= Parameters.Style.maxDepth else {
            throw EncodingError.invalidValue(
                value, EncodingError.Context(codingPath: [], debugDescription: "nested more than \(Parameters.Style.maxDepth) levels deep"))
        }
        switch value {
        case let value as ParameterValue: node.set(value)
        case let value as Date:
            do { node.set(try dates.encode(value)) } catch EncodingError.invalidValue(let value, let context)
                where context.codingPath.isEmpty
            {
                throw EncodingError.invalidValue(
                    value, EncodingError.Context(codingPath: codingPath, debugDescription: context.debugDescription))
            }
        case let value as Data: node.set(.data(value))
        case let value as URL: node.set(.string(value.absoluteString))
        case let value as Decimal: node.set(.string(value.description))
        default: try value.encode(to: self)
        }
    }

    mutating func encodeNil() { node.set(.null) }
    mutating func encode(_ value: Bool) { node.set(.bool(value)) }
    mutating func encode(_ value: String) { node.set(.string(value)) }
    mutating func encode(_ value: Double) { node.set(.double(value)) }
    /// By its own digits: 0.1 as a `Double` would be 0.10000000149011612.
    mutating func encode(_ value: Float) { node.set(.double(Double("\(value)") ?? Double(value))) }
    mutating func encode(_ value: Int) { node.set(.integer(exactly: value)) }
    mutating func encode(_ value: Int8) { node.set(.integer(exactly: value)) }
    mutating func encode(_ value: Int16) { node.set(.integer(exactly: value)) }
    mutating func encode(_ value: Int32) { node.set(.integer(exactly: value)) }
    mutating func encode(_ value: Int64) { node.set(.integer(exactly: value)) }
    mutating func encode(_ value: Int128) { node.set(.integer(exactly: value)) }
    mutating func encode(_ value: UInt) { node.set(.integer(exactly: value)) }
    mutating func encode(_ value: UInt8) { node.set(.integer(exactly: value)) }
    mutating func encode(_ value: UInt16) { node.set(.integer(exactly: value)) }
    mutating func encode(_ value: UInt32) { node.set(.integer(exactly: value)) }
    mutating func encode(_ value: UInt64) { node.set(.integer(exactly: value)) }
    mutating func encode(_ value: UInt128) { node.set(.integer(exactly: value)) }
    mutating func encode<Value: Encodable>(_ value: Value) throws { try write(value) }
}

private struct ParameterKeyedContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoder: ParameterNodeEncoder
    var codingPath: [any CodingKey] { encoder.codingPath }

    private func place(_ key: any CodingKey) -> ParameterNodeEncoder { encoder.at(encoder.node.member(key.stringValue), key) }

    mutating func encodeNil(forKey key: Key) { place(key).node.set(.null) }
    mutating func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws { try place(key).write(value) }
    // The standard library has these two refuse unless they are written out.
    mutating func encode(_ value: Int128, forKey key: Key) { place(key).node.set(.integer(exactly: value)) }
    mutating func encode(_ value: UInt128, forKey key: Key) { place(key).node.set(.integer(exactly: value)) }

    mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key) -> KeyedEncodingContainer<Nested> {
        place(key).container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { place(key).unkeyedContainer() }
    mutating func superEncoder() -> any Encoder { place(ParameterKey.super) }
    mutating func superEncoder(forKey key: Key) -> any Encoder { place(key) }
}

private struct ParameterUnkeyedContainer: UnkeyedEncodingContainer {
    let encoder: ParameterNodeEncoder
    var codingPath: [any CodingKey] { encoder.codingPath }
    var count: Int { encoder.node.count }

    private func place() -> ParameterNodeEncoder {
        let key = ParameterKey(intValue: count)
        return encoder.at(encoder.node.append(), key)
    }

    mutating func encodeNil() { place().node.set(.null) }
    mutating func encode<Value: Encodable>(_ value: Value) throws { try place().write(value) }
    mutating func encode(_ value: Int128) { place().node.set(.integer(exactly: value)) }
    mutating func encode(_ value: UInt128) { place().node.set(.integer(exactly: value)) }

    mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
        place().container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { place().unkeyedContainer() }
    mutating func superEncoder() -> any Encoder { place() }
}

private struct ParameterKey: CodingKey {
    static let `super` = ParameterKey(stringValue: "super")

    let stringValue: String
    let intValue: Int?

    init(stringValue: String) {
        self.stringValue = stringValue
        intValue = nil
    }

    init(intValue: Int) {
        stringValue = "\(intValue)"
        self.intValue = intValue
    }
}
