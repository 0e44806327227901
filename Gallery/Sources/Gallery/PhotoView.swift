import ScopedNetGTK
import ScopedNetImages
import ScopedNetViews

/// A picture that tells when it shows the beginning of a photo.
@MainActor final class PhotoView: ImageDisplaying {
    let picture = GTKPicture()
    private let meter: ItemMeter
    private let onPreview: @MainActor () -> Void

    init(_ meter: ItemMeter = ItemMeter(nil), onPreview: @escaping @MainActor () -> Void = {}) {
        (self.meter, self.onPreview) = (meter, onPreview)
    }

    func display(_ image: DecodedImage?) { meter.run { picture.display(image) } }

    func displayPreview(_ image: DecodedImage) {
        display(image)
        onPreview()
    }
}
