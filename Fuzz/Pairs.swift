import Foundation

@testable import ScopedNet

/// Whole queries of nested parameters: a reader that knows `&`, `=` and percent-encoding alone gets the pairs that went in, under names that a
/// second, plain flattening gives them, at each level in ascending order.
@Sendable func fuzzPairs(_ input: UnsafeRawBufferPointer) {
    var reader = TreeReader(bytes: Array(input))
    let parameters = reader.members(depth: 0)
    guard let query = try? QuerySerializer.standard.string(from: Parameters(parameters)) else { fatalError("refused") }
    check(query.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "#") }, "\(query) is not fit for a URL")
    let fields = query.utf8.split(separator: UInt8(ascii: "&")).map { field -> Pair in
        let halves = field.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
        return Pair(name: decoded(halves[0]), value: halves.count == 2 ? decoded(halves[1]) : nil)
    }
    var wanted: [Pair] = []
    for name in parameters.keys.sorted() { flatten(parameters[name] ?? .null, name, &wanted) }
    // A name that is empty, with a null, is an empty field, which the split leaves out.
    check(fields == wanted.filter { !($0.name.isEmpty && $0.value == nil) }, "\(query) is read as something else")
}

private struct Pair: Equatable {
    var name: [UInt8]
    var value: [UInt8]?
}

private func decoded(_ text: Substring.UTF8View) -> [UInt8] {
    var result: [UInt8] = []
    var rest = text
    while let byte = rest.popFirst() {
        guard byte == UInt8(ascii: "%") else {
            result.append(byte)
            continue
        }
        guard let escaped = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) else { fatalError("a '%' is no escape") }
        result.append(escaped)
        rest = rest.dropFirst(2)
    }
    return result
}

private func flatten(_ value: ParameterValue, _ name: String, _ pairs: inout [Pair]) {
    switch value {
    case .object(let members): for inner in members.keys.sorted() { flatten(members[inner] ?? .null, "\(name)[\(inner)]", &pairs) }
    case .array(let elements): for element in elements { flatten(element, name + "[]", &pairs) }
    case .null: pairs.append(Pair(name: Array(name.utf8), value: nil))
    case .string(let text): pairs.append(Pair(name: Array(name.utf8), value: Array(text.utf8)))
    case .data(let data): pairs.append(Pair(name: Array(name.utf8), value: Array(data)))
    case .integer(let number): pairs.append(Pair(name: Array(name.utf8), value: Array(String(number).utf8)))
    case .bool(let isTrue): pairs.append(Pair(name: Array(name.utf8), value: [UInt8(ascii: isTrue ? "1" : "0")]))
    case .double, .set: fatalError("never made")
    }
}

/// Makes a tree of whatever bytes there are.
private struct TreeReader {
    var bytes: [UInt8]
    private var place = 0

    init(bytes: [UInt8]) { self.bytes = bytes }

    private mutating func next() -> UInt8 {
        guard place < bytes.count else { return 0 }
        defer { place += 1 }
        return bytes[place]
    }

    private mutating func text() -> [UInt8] {
        let count = Int(next() & 15)
        let end = min(place + count, bytes.count)
        defer { place = end }
        return Array(bytes[place..<end])
    }

    mutating func members(depth: Int) -> [String: ParameterValue] {
        var members: [String: ParameterValue] = [:]
        for _ in 0..<(next() & 3) {
            let name = String(decoding: text(), as: UTF8.self)
            members[name] = value(depth: depth + 1)
        }
        return members
    }

    private mutating func value(depth: Int) -> ParameterValue {
        switch depth > 8 ? next() % 5 : next() % 7 {
        case 0: .null
        case 1: .string(String(decoding: text(), as: UTF8.self))
        case 2: .data(Data(text()))
        case 3: .integer(Int64(truncatingIfNeeded: Int8(bitPattern: next())))
        case 4: .bool(next() & 1 == 1)
        case 5: .array((0..<(next() & 3)).map { _ in value(depth: depth + 1) })
        default: .object(members(depth: depth + 1))
        }
    }
}
