import CGalleryGTK
import ScopedNetGTK

/// Textures that are made before the wall is: what the wall costs without loading anything.
@MainActor struct Textures {
    private let textures: [UnsafeMutableRawPointer]

    /// Paints as many photos as a server with large ones has.
    init() throws {
        textures = try (0..<PhotoServer.largePhotos).map { try Painter(number: $0).paint(width: 320, height: 240).makeGdkTexture() }
    }

    /// Shows the texture of a photo.
    func show(_ photo: Photo, in picture: UnsafeMutableRawPointer?) {
        gtk_picture_set_paintable(OpaquePointer(picture), OpaquePointer(textures[photo.number % textures.count]))
    }
}
