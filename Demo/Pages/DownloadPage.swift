import Foundation
import ScopedNet

/// Two downloads to files: a large one, and one that is paused and goes on where it stood.
@MainActor
final class DownloadPage {
    private let bag = DeallocBag(label: "Download")
    private let session: Session
    private let folder: URL

    private(set) var progress: Double?
    private(set) var files: [URL] = []
    private var map: Run?

    init(session: Session, folder: URL) {
        self.session = session
        self.folder = folder
    }

    func open() {
        session.download("files/survey.bin", to: folder.appending(path: "survey.bin"))
            .onDownloadProgress(for: self) { page, progress in page.progress = progress.fraction }
            .onSuccess(for: self) { page, file in page.files.append(file) }
            .start(in: bag)

        map =
            session.download("files/map.bin", to: folder.appending(path: "map.bin"))
            .onSuccess(for: self) { page, file in page.files.append(file) }
            .start(in: bag)
    }

    func pauseMap() { map?.suspend() }
    func resumeMap() { map?.resume() }
}
