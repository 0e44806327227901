import Foundation

/// The part to run, and `name=value` arguments.
struct Options: Sendable {
    let part: String
    private let values: [String: String]

    init(_ arguments: [String] = CommandLine.arguments) {
        part = arguments.count > 1 ? arguments[1] : ""
        let pairs = arguments.dropFirst(2).map { $0.split(separator: "=", maxSplits: 1).map(String.init) }
        values = Dictionary(pairs.filter { $0.count == 2 }.map { ($0[0], $0[1]) }, uniquingKeysWith: { $1 })
    }

    /// The directory of the files.
    var files: String { values["files"] ?? "." }
    /// The interleaved rounds. Default: 15.
    var rounds: Int { values["rounds"].flatMap(Int.init) ?? 15 }
    /// The URL of the server that has the files.
    var url: String { values["url"] ?? "" }
    /// The log of that server.
    var log: String { values["log"] ?? "" }
    /// One case of a part, such as a format; empty for all.
    var only: String { values["only"] ?? "" }
    /// The program of the peer; nil without gdk-pixbuf.
    var gdkPixbuf: String? { values["gdk"] }

    func file(_ name: String) throws -> Data { try Data(contentsOf: URL(filePath: "\(files)/\(name)")) }
}

/// Ends the process.
func fail(_ message: String) -> Never {
    FileHandle.standardError.write(Data("bench-images: \(message)\n".utf8))
    exit(1)
}
