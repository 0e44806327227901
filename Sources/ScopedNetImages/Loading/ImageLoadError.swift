public import FoundationEssentials
public import ScopedNet

/// The failure to load a picture. New cases may be added; keep a default when you switch.
public enum ImageLoadError: Error, Sendable {
    /// The bytes did not come: no connection, an error status, a limit of the transfer, a cancel.
    case transfer(NetworkError)
    /// The bytes are no picture, or one that asks for too much.
    case image(ImageError)
    /// The process that decodes has failed; see ``IsolatedDecoder``.
    case isolation(ImageIsolationError)
    /// A processor, or a decoder of the program's own, has thrown this.
    case processing(any Error)
    /// The task that waited was cancelled, or the session was shut down.
    case cancelled

    /// True where it was ended on purpose; of these there is nothing to tell a person.
    public var isCancelled: Bool {
        switch self {
        case .cancelled: true
        case .transfer(let error): error.isCancelled
        case .image, .isolation, .processing: false
        }
    }

    init(_ error: any Error) {
        self =
            switch error {
            case let error as ImageLoadError: error
            case let error as NetworkError: .transfer(error)
            case let error as ImageError: .image(error)
            case let error as ImageIsolationError: .isolation(error)
            case is CancellationError: .cancelled
            default: .processing(error)
            }
    }
}

extension ImageLoadError: CustomStringConvertible {
    /// One line.
    public var description: String {
        switch self {
        case .transfer(let error): "\(error)"
        case .image(let error): "\(error)"
        case .isolation(let error): "\(error)"
        case .processing(let error): "\(error)"
        case .cancelled: "cancelled"
        }
    }
}

extension ImageLoadError: LocalizedError {
    /// The words of the error behind it, for a person.
    public var errorDescription: String? {
        switch self {
        case .transfer(let error): error.errorDescription
        case .image, .isolation, .processing, .cancelled: description
        }
    }

    /// An advice, where there is one.
    public var recoverySuggestion: String? {
        if case .transfer(let error) = self { error.recoverySuggestion } else { nil }
    }
}
