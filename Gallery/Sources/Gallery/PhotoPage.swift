import CGalleryGTK
import ScopedNet
import ScopedNetGTK
import ScopedNetImages
import ScopedNetViews

/// A window with one photo, large. Its closing cancels what it loads.
@MainActor enum PhotoPage {
    static func open(_ photo: Photo, over parent: UnsafeMutableRawPointer, _ images: ImageLoader) {
        let window = made(gtk_window_new())
        gtk_window_set_title(window.window, photo.title)
        gtk_window_set_transient_for(window.window, parent.window)
        gtk_window_set_default_size(window.window, 800, 620)
        style(window, "page")
        let (column, picture, bar) = (made(gtk_box_new(GTK_ORIENTATION_VERTICAL, 0)), GTKPicture(), GTKProgressBar())
        gtk_widget_set_vexpand(picture.widget?.widget, 1)
        for child in [bar.widget, picture.widget] { gtk_box_append(column.box, child?.widget) }
        gtk_window_set_child(window.window, column.widget)

        let bag = DeallocBag.of(gObject: window)
        let slot = ImageSlot(for: picture, loader: images, in: bag)
        bag.insert(slot)
        let placeholder = images.cached(photo.small).map { ImagePlaceholder.placeholder($0) } ?? .clear
        var binding = ImageBinding<GTKPicture>(photo.large, placeholder: placeholder)
        binding.onSuccess = { [weak bar] picture, response in
            picture.display(response.image)
            bar?.display(.fraction(1), animated: true)
        }
        binding.onFailure = { [weak bar] _, _ in bar?.endProgress() }
        binding.onProgress = { [weak bar] _, progress in bar?.display(ProgressValue(progress.fraction), animated: true) }
        bar.display(.indeterminate, animated: false)
        slot.bind(binding)
        gtk_window_present(window.window)
    }
}
