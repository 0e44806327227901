import ScopedNet
import ScopedNetImages

extension ExitStatus {
    /// A limit for pictures was exceeded; curl's number for a file that is too large.
    static let tooLarge = ExitStatus(code: 63)
}

extension ToolFailure {
    /// Makes the end of a command whose file is no picture, or none that may be decoded.
    init(_ error: ImageError, about subject: String) {
        self.init(Self.status(of: error), "\(subject): \(error)\n  \(Self.advice(about: error))")
    }

    private static func status(of error: ImageError) -> ExitStatus {
        switch error {
        case .exceeds: .tooLarge
        default: .damaged
        }
    }

    fileprivate static func advice(about error: ImageError) -> String {
        switch error {
        case .unsupported(let format) where needsTrait(format):
            "this scopednet was built without the trait Images, which has JPEG, PNG and WebP; 'scopednet download' saves the file"
        case .unsupported: "'scopednet download' saves the file for a program that can read it"
        case .unknownFormat: "check the URL: 'scopednet get -i URL' shows what is there"
        case .damaged: "try again; if it stays so, the file itself is damaged"
        case .exceeds: "'scopednet download' saves the file without decoding it"
        }
    }

    private static func needsTrait(_ format: ImageFormat) -> Bool {
        #if Images
        return false
        #else
        return [.jpeg, .png, .webP].contains(format)
        #endif
    }
}

extension ResponseReport {
    /// The report about a file that is no picture, or none that may be decoded.
    init(url: String, error: ImageError) {
        self.init(url: url)
        let code =
            switch error {
            case .unknownFormat: "unknownFormat"
            case .unsupported: "unsupportedFormat"
            case .damaged: "damagedImage"
            case .exceeds: "imageTooLarge"
            }
        self.error = Failure(
            code: code, phase: NetworkError.Phase.decoding.rawValue, attempt: 1, message: "\(error)",
            advice: ToolFailure.advice(about: error))
    }
}
