import ScopedNetGTK
import ScopedNetImages
import ScopedNetViews

/// A picture that tells when it shows the beginning of a photo.
@MainActor final class PhotoView: ImageDisplaying {
    let picture = GTKPicture()
    private let onPreview: @MainActor () -> Void

    init(onPreview: @escaping @MainActor () -> Void = {}) { self.onPreview = onPreview }

    func display(_ image: DecodedImage?) { picture.display(image) }

    func displayPreview(_ image: DecodedImage) {
        picture.display(image)
        onPreview()
    }
}
