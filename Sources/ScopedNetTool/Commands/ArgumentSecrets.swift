import ScopedNet

/// Finds the secrets among a command's arguments, so that they can be taken out of the process list
/// (pure).
///
/// Covered are the values of `--user`, `--bearer` and secret header fields, user names and passwords
/// in URLs, and items and query parameters whose name says that their value is a secret.
enum ArgumentSecrets {
    static let placeholder = UInt8(ascii: "*")

    /// Returns arguments of the same lengths, with each byte of a secret replaced by ``placeholder``.
    ///
    /// The arguments are as given to `main`, the program's name first.
    static func hidden(_ arguments: [[UInt8]]) -> [[UInt8]] {
        var hidden = arguments
        var expected: Option?
        for index in arguments.indices.dropFirst() {
            let argument = arguments[index]
            if let option = expected {
                hidden[index] = covered(argument, from: secretStart(of: option, in: argument[...]))
                expected = nil
            } else if let (option, value) = option(argument) {
                if let value {
                    hidden[index] = covered(argument, from: secretStart(of: option, in: argument[value...]))
                } else {
                    expected = option
                }
            } else {
                hidden[index] = hiddenOperand(argument)
            }
        }
        return hidden
    }

    private enum Option {
        case credentials, field
    }

    /// The option that an argument names, and the start of its value where that stands in the same argument.
    private static func option(_ argument: [UInt8]) -> (Option, value: Int?)? {
        guard argument.first == UInt8(ascii: "-"), argument.count > 1 else { return nil }
        let equals = argument.firstIndex(of: UInt8(ascii: "="))
        let name = String(decoding: argument[..<(equals ?? argument.endIndex)], as: UTF8.self)
        let option: Option? =
            switch name {
            case "--user", "--bearer": .credentials
            case "--header": .field
            case let name where name.hasPrefix("--"): nil
            // Short flags may share a dash: the last of them takes the value.
            case let name where name.utf8.last == UInt8(ascii: "u"): .credentials
            case let name where name.utf8.last == UInt8(ascii: "H"): .field
            default: nil
            }
        return option.map { ($0, equals.map { $0 + 1 }) }
    }

    private static func secretStart(of option: Option, in value: ArraySlice<UInt8>) -> Int? {
        switch option {
        case .credentials: return value.startIndex
        case .field:
            guard let colon = value.firstIndex(of: UInt8(ascii: ":")), isSecret(value[..<colon]) else { return nil }
            return colon + 1
        }
    }

    /// An argument that belongs to no option: a URL, or an item such as `password=hush`.
    private static func hiddenOperand(_ operand: [UInt8]) -> [UInt8] {
        var hidden = operand
        if let userinfo = userinfo(operand) { cover(&hidden, userinfo) }
        for parameter in secretParameters(operand) { cover(&hidden, parameter) }
        if let separator = operand.firstIndex(where: { ":=@".utf8.contains($0) }), isSecret(operand[..<separator]) {
            cover(&hidden, (separator + 1)..<operand.endIndex)
        }
        return hidden
    }

    /// Between the slashes in front of an authority and its last `@` (RFC 3986 section 3.2.1).
    private static func userinfo(_ url: [UInt8]) -> Range<Int>? {
        guard let colon = url.indices.first(where: { url[$0...].starts(with: "://".utf8) }) else { return nil }
        let authority = url[(colon + 3)...].prefix { !"/?#".utf8.contains($0) }
        return authority.lastIndex(of: UInt8(ascii: "@")).map { authority.startIndex..<$0 }
    }

    /// The values of `?token=…&key=…`.
    private static func secretParameters(_ url: [UInt8]) -> [Range<Int>] {
        var found: [Range<Int>] = []
        var index = url.firstIndex(of: UInt8(ascii: "?")) ?? url.endIndex
        while index < url.endIndex {
            let parameter = url[(index + 1)...].prefix { !"&;#".utf8.contains($0) }
            if let equals = parameter.firstIndex(of: UInt8(ascii: "=")), isSecret(parameter[..<equals]) {
                found.append((equals + 1)..<parameter.endIndex)
            }
            index = parameter.endIndex
        }
        return found
    }

    private static func isSecret(_ name: ArraySlice<UInt8>) -> Bool {
        ShownField.isSecret(String(decoding: name, as: UTF8.self))
    }

    private static func covered(_ argument: [UInt8], from start: Int?) -> [UInt8] {
        var covered = argument
        if let start { cover(&covered, start..<argument.endIndex) }
        return covered
    }

    private static func cover(_ argument: inout [UInt8], _ range: Range<Int>) {
        for index in range { argument[index] = placeholder }
    }
}
