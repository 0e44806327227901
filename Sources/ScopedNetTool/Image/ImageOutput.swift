import FoundationEssentials
import ScopedNetImages

/// The files that `scopednet image` writes.
enum ImageOutput {
    /// The reason for which a file cannot be made, as a sentence.
    struct Problem: Error {
        let text: String
    }

    /// Finds the encoder for a file by its extension (pure).
    static func encoder(for path: String) -> Result<any ImageEncoding, Problem> {
        let name = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path[path.utf8.index(after: $0)...] } ?? path[...]
        let type = name.lastIndex(of: ".").map { name[name.index(after: $0)...].lowercased() } ?? ""
        guard ["png", "jpg", "jpeg", "webp"].contains(type) else {
            return .failure(Problem(text: "--output takes a name that ends with .png, .jpg, .jpeg or .webp; --original any name."))
        }
        #if Images
        switch type {
        case "png": return .success(PNGEncoder())
        case "webp": return .success(WebPEncoder())
        default: return .success(JPEGEncoder())
        }
        #else
        return .failure(
            Problem(text: "This scopednet was built without the trait Images and makes no .\(type); --original saves the file as it came."))
        #endif
    }

    /// Makes the bytes of a file.
    ///
    /// - Throws: a ``ToolFailure`` for a picture that the format cannot hold.
    static func bytes(of picture: LoadedPicture, for path: String, isOriginal: Bool) throws(ToolFailure) -> Data {
        if isOriginal { return picture.file.data }
        do {
            return try encoder(for: path).get().encode(picture.image)
        } catch {
            throw ToolFailure(.cannotWrite, "\(path): \(error)\n  make it smaller with --width or --height, or name another format with -o")
        }
    }
}
