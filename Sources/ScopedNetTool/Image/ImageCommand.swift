#if CommandLineTool
import ArgumentParser
import ScopedNetImages

struct ImageCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "image", abstract: "Fetch a picture, show it in the terminal, and say what it is.",
        discussion: """
            A terminal shows the picture on standard output, in the best form that the environment tells of; a file or a pipe gets it \
            with --graphics only. Standard error has a line about the file and one about its transfer. With --output it is saved, as PNG, \
            JPEG or WebP by the extension, or with --original as it came. The header is judged before anything is decoded.

              scopednet image https://example.org/photo.jpg
              scopednet image --width 320 -o small.webp https://example.org/photo.jpg
              scopednet image --cache pictures --json https://example.org/photo.jpg
              scopednet image --graphics blocks https://example.org/logo.gif | less -R
            """)

    @OptionGroup var transfer: TransferArguments

    @Option(parsing: .unconditional, help: ArgumentHelp("Make it this wide at most, in its shape; never larger.", valueName: "pixels"))
    var width: Int?

    @Option(parsing: .unconditional, help: ArgumentHelp("Make it this high at most, in its shape; never larger.", valueName: "pixels"))
    var height: Int?

    @Option(
        name: .shortAndLong, parsing: .unconditional,
        help: ArgumentHelp("Save it to this file: .png, .jpg, .jpeg or .webp; with --original, any.", valueName: "file"))
    var output: String?

    @Flag(help: "With --output: save the file as it came.")
    var original = false

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("The form of the picture: auto, kitty, sixel, blocks, ascii or none.", valueName: "form"))
    var graphics = ImageGraphics.auto

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Ask this response cache first, and keep the file there: a name, or the path of a folder.", valueName: "cache"))
    var cache: String?

    func validate() throws {
        for (name, side) in [("--width", width), ("--height", height)] {
            if let side, !(1...1_000_000).contains(side) { throw ValidationError("\(name) takes a number of pixels from 1 to 1000000.") }
        }
        if original, output == nil { throw ValidationError("Name the file of --original with --output.") }
        if original, width != nil || height != nil {
            throw ValidationError("--original keeps the size of the file; leave out --width and --height.")
        }
        if transfer.json, graphics != .auto, graphics != .none {
            throw ValidationError("--json prints one object and no picture; leave out --graphics.")
        }
        if let cache, cache.isEmpty { throw ValidationError("--cache takes a name, or the path of a folder.") }
        if let output { try validate(output: output) }
    }

    private func validate(output: String) throws {
        if output.isEmpty || output.hasSuffix("/") { throw ValidationError("--output takes the name of a file, not of a folder.") }
        guard !original else { return }
        switch ImageOutput.encoder(for: output) {
        case .success: return
        case .failure(let problem): throw ValidationError(problem.text)
        }
    }

    func execute() async throws(ToolFailure) { try await ImageViewer(arguments: self).execute() }
}

extension ImageGraphics: ExpressibleByArgument {}
#endif
