#if CommandLineTool
import FoundationEssentials
import Glibc
import Persistence
import ScopedNet
import ScopedNetImages

/// Fetches one picture, shows it, saves it, and tells of it.
struct ImageViewer: Sendable {
    let arguments: ImageCommand
    private var transfer: TransferArguments { arguments.transfer }

    /// Returns when all is written.
    func execute() async throws(ToolFailure) {
        if let output = arguments.output { try FilePlace.checkReplaceable(output) }
        let cache = try responseCache()
        let received = ReceivedBytes()
        let picture = try await load(cache, received)
        let statistics = cache?.statistics
        await cache?.store.close()
        let console = Console(isQuiet: transfer.quiet)
        var report = ImageReport(url: transfer.shownURL, picture, received: received.count, statistics)
        if let output = arguments.output {
            try save(picture, to: output, console)
            report.file = output
        }
        if transfer.json { return try console.print(line: JSONText.line(report)) }
        try show(picture.image, console)
        for line in report.lines { console.report(line) }
    }

    // MARK: Loading

    private func load(_ cache: ResponseCache?, _ received: ReceivedBytes) async throws(ToolFailure) -> LoadedPicture {
        try await transfer.withSession(
            accepting: .success,
            configuring: { configuration in
                configuration.cache = cache
                configuration.observers.append(received)
            }
        ) { session, console, _ throws(ToolFailure) in
            let record = DecodingRecord()
            var configuration = ImageLoader.Configuration()
            configuration.decoders = record.decoders
            configuration.makesPreviews = false
            configuration.relievesMemory = false
            do throws(ImageLoadError) {
                let image = try await ImageLoader(session, configuration: configuration).image(request)
                guard let file = record.file else { throw .cancelled }
                return LoadedPicture(image: image, file: file)
            } catch {
                throw try failure(error, console)
            }
        }
    }

    private var request: ImageRequest {
        var request = ImageRequest(transfer.url, size: size)
        // The loader names what it can decode, unless the arguments do.
        for header in transfer.headers {
            guard let field = try? HeaderArgument(header).field, field.name == .accept else { continue }
            request.headers[.accept] = field.value
        }
        return request
    }

    /// The size to decode to. What is shown and not saved needs no more pixels than the terminal has.
    private var size: PixelSize? {
        if arguments.width != nil || arguments.height != nil {
            return PixelSize(arguments.width ?? 1_000_000, arguments.height ?? 1_000_000)
        }
        return arguments.output == nil && capability != nil ? TerminalSize(of: STDOUT_FILENO).pixels : nil
    }

    /// Shared: the program whose cache it is may be running.
    private func responseCache() throws(ToolFailure) -> ResponseCache? {
        guard let name = arguments.cache else { return nil }
        return ResponseCache(StoreConfiguration(directory: try CacheFolder.path(of: name), mode: .shared))
    }

    private func failure(_ error: ImageLoadError, _ console: Console) throws(ToolFailure) -> ToolFailure {
        switch error {
        case .transfer(let error): return try transfer.failure(error, console, transfer.proof())
        case .image(let error):
            console.show("")
            if transfer.json { try console.print(line: JSONText.line(ResponseReport(url: transfer.shownURL, error: error))) }
            return ToolFailure(error, about: transfer.shownURL)
        case .isolation(let error): return ToolFailure(.software, "\(transfer.shownURL): \(error)")
        case .processing(let error): return ToolFailure(.software, "\(transfer.shownURL): \(error)")
        case .cancelled: return .interrupted
        }
    }

    // MARK: Output

    private var capability: TerminalPicture.Capability? {
        guard !transfer.json else { return nil }
        return arguments.graphics.capability(
            isTerminal: isatty(STDOUT_FILENO) == 1, environment: ProcessInfo.processInfo.environment)
    }

    private func show(_ image: DecodedImage, _ console: Console) throws(ToolFailure) {
        guard let capability else { return }
        let size = TerminalSize(of: STDOUT_FILENO)
        let picture = TerminalPicture(image, columns: size.columns, rows: size.pictureRows, cell: size.cell)
        let bytes: [UInt8]
        do { bytes = try picture.bytes(for: capability) } catch {
            throw ToolFailure(.tooLarge, "\(transfer.shownURL): \(error)\n  choose another form with --graphics")
        }
        try console.print(bytes + [UInt8(ascii: "\n")])
    }

    private func save(_ picture: LoadedPicture, to path: String, _ console: Console) throws(ToolFailure) {
        let data = try ImageOutput.bytes(of: picture, for: path, isOriginal: arguments.original)
        let output = try BodyOutput(console, path: path)
        try output.write(data)
        try output.finish()
    }
}
#endif
