import Foundation
import ScopedNetImages

/// The facts about a picture that a page has shown, without its pixels: those would count as alive in the census.
struct PictureFacts: Sendable {
    /// The file as it came.
    struct File: Sendable {
        let data: Data
        let header: ImageHeader
    }

    enum Outcome: Sendable {
        /// Shown in this size, in pixels.
        case shown(PixelSize, File?)
        /// Not shown, for this reason.
        case refused(String)
    }

    let name: String
    /// The path of its URL.
    let path: String
    let outcome: Outcome
    /// The way it came, such as `from the network`.
    let source: String

    /// The sizes before and after: `480 × 320 GIF → 180 × 120`; for a picture that is not shown, the reason.
    var result: String {
        switch outcome {
        case .shown(let size, nil): "\(size.width) × \(size.height)"
        case .shown(let size, let file?):
            "\(file.header.shownWidth) × \(file.header.shownHeight) \(file.header.format.rawValue.uppercased()) → \(size.width) × \(size.height)"
        case .refused(let reason): reason
        }
    }

    /// One line, for output without pictures.
    var sentence: String {
        switch outcome {
        case .shown: "picture \(name) \(result), \(source)"
        case .refused: "picture \(name) is not shown: \(result)"
        }
    }
}

/// A picture on its way to the terminal; nil pixels where it could not be had.
struct ShownPicture: Sendable {
    let facts: PictureFacts
    let image: DecodedImage?
}
