import ScopedNet
import ScopedNetImages
import ScopedNetViews

/// The parts of the program that its windows use.
@MainActor struct Services {
    let session: Session
    let images: ImageLoader
    let views = ViewObserver()
    /// The server, where it is in this process.
    let server: PhotoServer?
    let port: Int
    let report: Report
    let meter: LoopMeter?
    let textures: Textures?

    /// Starts the server, where it is not in another process.
    init(_ options: Options) throws {
        let server = options.port == nil ? try PhotoServer(options) : nil
        (self.server, report) = (server, Report(isOn: options.reports))
        port = options.port ?? server?.port ?? 0
        meter = options.measures ? LoopMeter() : nil
        textures = options.hasTextures ? try Textures() : nil
        var configuration = Session.Configuration()
        // Not the URL of the server, whose port is another one each time: photos of the last time are found in the cache.
        configuration.baseURL = "http://photos.example/"
        configuration.connectsTo = [.init("photos.example", to: "127.0.0.1", toPort: port)]
        configuration.connection.proxy = .none
        configuration.cache = ResponseCache(named: "scopednet-gallery")
        configuration.observers.append(views)
        session = Session(configuration: configuration)
        var loading = ImageLoader.Configuration()
        loading.order = .lastInFirstOut
        loading.previewInterval = .milliseconds(200)
        images = ImageLoader(session, configuration: loading)
    }
}
