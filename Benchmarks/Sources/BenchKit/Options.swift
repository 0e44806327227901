import CMeasure

/// What `Scripts/bench` asks a client to do: `<scenario> name=value …`.
public struct Options: Sendable {
    /// The first argument; empty without one.
    public let scenario: String
    private let values: [String: String]

    /// Reads `name=value` arguments after the scenario.
    public init(arguments: [String] = CommandLine.arguments) {
        scenario = arguments.count > 1 ? arguments[1] : ""
        values = Dictionary(
            arguments.dropFirst(2).compactMap { argument in
                let parts = argument.split(separator: "=", maxSplits: 1)
                return parts.count == 2 ? (String(parts[0]), String(parts[1])) : nil
            },
            uniquingKeysWith: { $1 }
        )
    }

    /// The value of an argument; nil where it is not given.
    public func text(_ name: String) -> String? { values[name] }
    /// The value of an argument as a number, or `fallback` where it is not given or no number.
    public func number(_ name: String, default fallback: Int) -> Int { values[name].flatMap(Int.init) ?? fallback }

    /// The URL to ask; empty by default.
    public var url: String { values["url"] ?? "" }
    /// A file with the certificates to trust; nil for the system's.
    public var certificateAuthority: String? { values["ca"] }
    /// The length of the body, in bytes. Default: 1,024.
    public var expectedBytes: Int { number("bytes", default: 1024) }
    /// The number of requests. Default: 1.
    public var requests: Int { number("requests", default: 1) }
    /// The number of requests at once. Default: all of them.
    public var inFlight: Int { number("in-flight", default: requests) }
    /// The client's own limit of connections.
    public var connections: Int { number("connections", default: inFlight) }
    /// True with `http2=1`.
    public var http2: Bool { number("http2", default: 0) == 1 }
    /// The API by which the client is called. Default: closures.
    public var door: Door { values["door"].flatMap(Door.init(rawValue:)) ?? .closure }
}

/// The way a client is called.
public enum Door: String, Sendable {
    case closure, async
}
