import Foundation
import ScopedNet
import ScopedNetImages
import ScopedNetViews

// The Swift samples of ScopedNetViews.docc, word for word; `ViewDocumentationTests` compares them with the articles.

// MARK: ScopedNetViews.md

@MainActor
final class PhotoCell: ImageDisplaying, RequestOwner {
    nonisolated let deallocBag = DeallocBag()
    var caption = ""
    private(set) var picture: DecodedImage?
    private(set) var slot: ImageSlot<PhotoCell>?

    init(_ images: ImageLoader) { slot = ImageSlot(for: self, loader: images, in: deallocBag) }

    func show(_ photo: String) { slot?.bind(ImageBinding(ImageRequest(photo, size: PixelSize(96, 96), mode: .fill))) }

    func display(_ image: DecodedImage?) { picture = image }
}

func makeSession(_ views: ViewObserver) -> Session {
    var configuration = Session.Configuration()
    configuration.observers.append(views)
    return Session(configuration: configuration)
}

// MARK: BindingViews.md

@MainActor
func show(_ photo: String, without placeholder: DecodedImage, in slot: ImageSlot<PhotoCell>) {
    slot.bind(
        ImageBinding(
            ImageRequest(photo), placeholder: .placeholder(placeholder),
            onFailure: { cell, error in cell.caption = error.localizedDescription }))
}

@MainActor
final class DownloadPage: RequestOwner {
    nonisolated let deallocBag = DeallocBag()
    private let bar: ProgressSlot<TerminalProgressLine>
    private let line: TerminalProgressLine

    init(_ output: TerminalOutput) {
        line = TerminalProgressLine("image.iso", on: output)
        bar = ProgressSlot(for: line, in: deallocBag)
    }

    func load(_ session: Session) { bar.bind(session.get("image.iso").start(in: deallocBag)) }
}

@MainActor
func showHelp(in slot: PageSlot<some PageDisplaying>, _ session: Session) {
    slot.bind(PageBinding(session.get("help"), transform: .text { _, text in "<base target=\"_blank\">" + text }))
}

@MainActor
func makeIndicator(_ views: ViewObserver, _ output: TerminalOutput) -> (NetworkActivityIndicator, TerminalSpinner) {
    let (indicator, spinner) = (NetworkActivityIndicator(views), TerminalSpinner("loading", on: output))
    indicator.attach(spinner)
    indicator.isEnabled = true
    return (indicator, spinner)
}
