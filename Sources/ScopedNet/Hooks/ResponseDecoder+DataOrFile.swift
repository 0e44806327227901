import FoundationEssentials

extension ResponseDecoder where Value == RequestHooks.DataOrFile {
    /// The body as it is, or the file that a disposition hook had it put in.
    public static var dataOrFile: Self {
        placing { (path: String?, body: Data) in path.map { .file(URL(filePath: $0)) } ?? .data(body) }
    }
}
