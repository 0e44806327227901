import CGalleryGTK
import ScopedNet
import ScopedNetGTK
import ScopedNetImages
import ScopedNetViews

/// A photo of the wall with its title, which the list uses again for another one. What it loads ends with its widget.
@MainActor final class PhotoCell {
    let widget = made(gtk_overlay_new())
    private let picture = GTKPicture()
    private let bar = GTKProgressBar()
    private let title = made(gtk_label_new(""))
    private let slot: ImageSlot<GTKPicture>

    init(_ images: ImageLoader) {
        slot = ImageSlot(for: picture, loader: images, in: .of(gObject: widget))
        let photo = picture.widget?.widget
        gtk_widget_set_size_request(photo, 224, 168)
        gtk_picture_set_content_fit(OpaquePointer(photo), GTK_CONTENT_FIT_COVER)
        gtk_widget_set_overflow(widget.widget, GTK_OVERFLOW_HIDDEN)
        gtk_overlay_set_child(OpaquePointer(widget), photo)
        for (child, place) in [(title, GTK_ALIGN_END), (bar.widget, GTK_ALIGN_START)] {
            gtk_widget_set_valign(child?.widget, place)
            gtk_overlay_add_overlay(OpaquePointer(widget), child?.widget)
        }
        gtk_label_set_xalign(OpaquePointer(title), 0)
        style(widget, "photo")
        style(title, "caption")
    }

    func show(_ photo: Photo) {
        gtk_label_set_text(OpaquePointer(title), photo.title)
        gtk_widget_set_visible(bar.widget?.widget, 1)
        bar.display(.indeterminate, animated: false)
        var binding = ImageBinding<GTKPicture>(photo.small)
        binding.onSuccess = { [weak self] picture, response in
            picture.display(response.image)
            self?.ended()
        }
        binding.onFailure = { [weak self] _, _ in self?.ended() }
        binding.onProgress = { [weak self] _, progress in self?.bar.display(ProgressValue(progress.fraction), animated: true) }
        slot.bind(binding)
    }

    /// Ends the load of a cell that nobody sees any more.
    func clear() {
        slot.cancel()
        ended()
    }

    private func ended() {
        bar.endProgress()
        gtk_widget_set_visible(bar.widget?.widget, 0)
    }
}

/// A photo of the list, by its line: a number, and words.
struct Photo {
    let number: Int
    let title: String

    init(_ line: String) {
        let parts = line.split(separator: " ", maxSplits: 1)
        number = parts.first.flatMap { Int($0) } ?? 0
        title = parts.count == 2 ? String(parts[1]) : line
    }

    var small: ImageRequest { ImageRequest("photos/\(number)", size: PixelSize(320, 240), mode: .fill) }
    var large: ImageRequest { ImageRequest("photos/\(number)?large", priority: .high) }
}
