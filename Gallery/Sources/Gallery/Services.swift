import ScopedNet
import ScopedNetImages
import ScopedNetViews

/// The parts of the program that its windows use.
@MainActor struct Services {
    let session: Session
    let images: ImageLoader
    let views = ViewObserver()
    let server: PhotoServer
    let report: Report

    init(_ server: PhotoServer, _ report: Report) {
        (self.server, self.report) = (server, report)
        var configuration = Session.Configuration()
        // Not the URL of the server, whose port is another one each time: photos of the last time are found in the cache.
        configuration.baseURL = "http://photos.example/"
        configuration.connectsTo = [.init("photos.example", to: "127.0.0.1", toPort: server.port)]
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
