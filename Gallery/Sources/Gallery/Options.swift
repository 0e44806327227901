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

    init(_ arguments: [String]) {
        func value(of name: String) -> String? { arguments.firstIndex(of: name).flatMap { arguments.dropFirst($0 + 1).first } }
        photos = value(of: "--photos").flatMap { Int($0) } ?? photos
        pace = value(of: "--pace").flatMap { Int($0) } ?? pace
        isFast = arguments.contains("--fast")
        reports = arguments.contains("--report")
        startsOffline = value(of: "--server") == "off"
    }
}
