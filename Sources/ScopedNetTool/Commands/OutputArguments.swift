#if CommandLineTool
import ArgumentParser
import ScopedNet

/// What becomes of a response.
struct OutputArguments: ParsableArguments, Sendable {
    @Option(
        name: .shortAndLong, parsing: .unconditional,
        help: ArgumentHelp("Write the body to this file, in one step at its end; - is standard output.", valueName: "file"))
    var output: String?

    @Flag(name: [.customShort("O"), .long], help: "Write the body to a file named as the URL's path ends.")
    var remoteName = false

    @Flag(name: .shortAndLong, help: "Print status line and fields in front of the body.")
    var include = false

    @Flag(help: "Lay JSON out in lines, as on a terminal.")
    var pretty = false

    @Flag(name: .shortAndLong, help: "From status 400 on print no body. (The exit status is 22 in any case.)")
    var fail = false

    func validate() throws {
        if output != nil, remoteName { throw ValidationError(Self.twoPlaces) }
        if let output, output.isEmpty || output.hasSuffix("/") {
            throw ValidationError("--output takes the name of a file, not of a folder.")
        }
    }

    static let twoPlaces = "--output and --remote-name exclude each other: give one of them."

    /// Nil for standard output.
    func place(for url: String) throws(ToolFailure) -> String? {
        guard remoteName else { return output == "-" ? nil : output }
        guard let name = RemoteName.of(url) else {
            throw ToolFailure(.usage, "the path of the URL ends with no name of a file\n  name it, as in -o FILE")
        }
        return name
    }
}
#endif
