/// The arguments of the program.
struct Options {
    /// The number of photos.
    var photos = 500
    /// The photos of the wall are sent at once, and not so that one sees them come. Large ones always are.
    var isFast = false
    /// The bytes of a photo that are sent in a tenth of a second.
    var pace = 3 << 10
    /// Events are told on standard output.
    var reports = false
    /// The server is off at the start.
    var startsOffline = false
    /// The millions of pixels of each photo, as a camera takes them; nil for smaller ones that are painted when they are asked for.
    var megapixels: Int?
    /// The port of a server in a process of its own; nil for one in this process.
    var port: Int?
    /// There is no window, only the server, which ends with standard input.
    var servesOnly = false
    /// The time of the main loop and of the library is measured, and told at the end.
    var measures = false
    /// Photos are textures that are made before the wall: nothing is loaded.
    var hasTextures = false

    init(_ arguments: [String]) {
        func value(of name: String) -> String? { arguments.firstIndex(of: name).flatMap { arguments.dropFirst($0 + 1).first } }
        photos = value(of: "--photos").flatMap { Int($0) } ?? photos
        pace = value(of: "--pace").flatMap { Int($0) } ?? pace
        isFast = arguments.contains("--fast")
        reports = arguments.contains("--report")
        startsOffline = value(of: "--server") == "off"
        megapixels = value(of: "--megapixels").flatMap { Int($0) }.map { min(max($0, 1), 100) }
        port = value(of: "--port").flatMap { UInt16($0) }.map { Int($0) }
        servesOnly = arguments.contains("--serve")
        measures = arguments.contains("--measure")
        hasTextures = arguments.contains("--textures")
    }
}
