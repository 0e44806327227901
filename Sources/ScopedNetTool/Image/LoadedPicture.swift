import ScopedNetImages

/// A picture with its file.
struct LoadedPicture: Sendable {
    let image: DecodedImage
    let file: DecodingRecord.File
}
