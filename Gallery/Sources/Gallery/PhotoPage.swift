import CGalleryGTK
import ScopedNet
import ScopedNetGTK
import ScopedNetImages
import ScopedNetViews

/// One photo, large. The end of its widget cancels what it loads.
@MainActor struct PhotoPage {
    let photo: Photo
    let widget = made(gtk_box_new(GTK_ORIENTATION_VERTICAL, 0))

    /// Makes a page, and loads its photo. Until it comes, the small one of the wall is shown, and what has come of it.
    init(_ photo: Photo, _ services: Services) {
        self.photo = photo
        let (report, images, bar) = (services.report, services.images, GTKProgressBar())
        let view = PhotoView { report.say("preview \(photo.number)") }
        gtk_widget_set_vexpand(view.picture.widget?.widget, 1)
        for child in [bar.widget, view.picture.widget] { gtk_box_append(widget.box, child?.widget) }
        style(widget, "page")

        let bag = DeallocBag.of(gObject: widget)
        let slot = ImageSlot(for: view, loader: images, in: bag)
        bag.insert(AnyCancellable { withExtendedLifetime(view) { slot.cancel() } })
        let placeholder = images.cached(photo.small).map { ImagePlaceholder.placeholder($0) } ?? .clear
        var binding = ImageBinding<PhotoView>(photo.large, placeholder: placeholder)
        binding.onSuccess = { [weak bar] view, response in
            report.noteCall()
            view.display(response.image)
            bar?.display(.fraction(1), animated: true)
            report.say("page shown \(photo.number)")
        }
        binding.onFailure = { [weak bar] _, _ in
            report.noteCall()
            bar?.endProgress()
            report.say("page missing \(photo.number)")
        }
        binding.onProgress = { [weak bar] _, progress in
            report.noteCall()
            bar?.display(ProgressValue(progress.fraction), animated: true)
        }
        bar.display(.indeterminate, animated: false)
        slot.bind(binding)
    }
}
