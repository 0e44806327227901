import CGalleryGTK
import ScopedNet
import ScopedNetGTK
import ScopedNetImages
import ScopedNetViews

/// A photo of the wall with its title, which the list uses again for another one. What it loads ends with its widget.
@MainActor final class PhotoCell {
    /// The stage of the photo.
    enum Stage { case empty, loading, shown, missing }

    let widget = made(gtk_overlay_new())
    private(set) var photo: Photo?
    private(set) var stage = Stage.empty
    private let view: PhotoView
    private let bar = GTKProgressBar()
    private let title = made(gtk_label_new(""))
    private let missing = made(gtk_label_new("Not here"))
    private let slot: ImageSlot<PhotoView>
    private let report: Report
    private let textures: Textures?
    private let meter: ItemMeter
    private let onEnd: @MainActor (ImageResponse.Source?, ImageLoadError?) -> Void
    private var isOnScreen = false

    /// Makes a cell without a photo.
    ///
    /// - Parameters:
    ///   - services: the loader, and the report.
    ///   - onEnd: told of the end of each load that is not cancelled: the source of the picture, or the error.
    init(_ services: Services, onEnd: @escaping @MainActor (ImageResponse.Source?, ImageLoadError?) -> Void) {
        (report, textures, self.onEnd) = (services.report, services.textures, onEnd)
        meter = ItemMeter(services.meter)
        view = PhotoView(meter)
        slot = ImageSlot(for: view, loader: services.images, in: .of(gObject: widget))
        let picture = view.picture.widget?.widget
        gtk_widget_set_size_request(picture, 224, 168)
        gtk_picture_set_content_fit(OpaquePointer(picture), GTK_CONTENT_FIT_COVER)
        gtk_widget_set_overflow(widget.widget, GTK_OVERFLOW_HIDDEN)
        gtk_overlay_set_child(OpaquePointer(widget), picture)
        for (child, place) in [(missing, GTK_ALIGN_CENTER), (title, GTK_ALIGN_END), (bar.widget, GTK_ALIGN_START)] {
            gtk_widget_set_valign(child?.widget, place)
            gtk_overlay_add_overlay(OpaquePointer(widget), child?.widget)
        }
        gtk_label_set_xalign(OpaquePointer(title), 0)
        gtk_widget_set_visible(missing.widget, 0)
        for (part, name) in [(widget, "photo"), (title, "caption"), (missing, "missing")] { style(part, name) }
    }

    func show(_ photo: Photo) {
        (self.photo, stage, isOnScreen) = (photo, .loading, false)
        gtk_label_set_text(OpaquePointer(title), photo.title)
        gtk_widget_set_visible(missing.widget, 0)
        gtk_widget_set_visible(bar.widget?.widget, 1)
        if let textures {
            textures.show(photo, in: view.picture.widget)
            return ended(.shown, nil, nil)
        }
        bar.display(.indeterminate, animated: false)
        bind(photo.small)
    }

    /// Loads a photo again that could not be had.
    func retry() { if stage == .missing, let photo { show(photo) } }

    /// Loads the photo before those that are off the screen, or no longer so.
    func setOnScreen(_ isOnScreen: Bool) {
        guard isOnScreen != self.isOnScreen, stage == .loading, var request = photo?.small else { return }
        self.isOnScreen = isOnScreen
        request.priority = isOnScreen ? .high : .normal
        // The load goes on; its priority is the new one.
        bind(request)
    }

    private func bind(_ request: ImageRequest) {
        var binding = ImageBinding<PhotoView>(request)
        binding.onSuccess = { [weak self] view, response in
            view.display(response.image)
            self?.ended(.shown, response.source, nil)
        }
        binding.onFailure = { [weak self] _, error in self?.ended(.missing, nil, error) }
        binding.onProgress = { [weak self] _, progress in
            self?.report.noteCall()
            self?.showProgress(ProgressValue(progress.fraction))
        }
        meter.run { slot.bind(binding) }
    }

    private func showProgress(_ value: ProgressValue) { meter.run { bar.display(value, animated: true) } }

    /// Ends the load of a cell that is off the wall.
    func clear() {
        if textures == nil { meter.run { slot.cancel() } }
        meter.finish()
        (photo, stage) = (nil, .empty)
        hideProgress()
    }

    private func ended(_ stage: Stage, _ source: ImageResponse.Source?, _ error: ImageLoadError?) {
        report.noteCall()
        self.stage = stage
        gtk_widget_set_visible(missing.widget, stage == .missing ? 1 : 0)
        hideProgress()
        onEnd(source, error)
    }

    private func hideProgress() {
        bar.endProgress()
        gtk_widget_set_visible(bar.widget?.widget, 0)
    }
}
