import Glibc
import SystemSupport

/// The file of one large body: first a temporary one that is open, later at its place and closed.
///
/// Dropped while it is temporary, it takes the file with it.
final class BodyFile: Sendable {
    private enum Place {
        /// Open, so that it can be read whatever its name is at the moment.
        case temporary(TemporaryFile)
        case stored(path: String)
        /// At its place, where the row that names it is still to be written.
        case placed(path: String, name: String)
        /// Nobody will store it; what is open stays readable.
        case discarded
    }

    let layout: FrameLayout
    /// Of the checksums at its end.
    let checksum: Int64
    private let sealing: (any StoreSealing)?
    /// Where it is read by those who wait for a limited time.
    let disk: DiskThreads?
    private let place: Lock<Place>
    private let isClaimed = Lock(false)

    /// Takes over the descriptor.
    init(
        temporary file: TemporaryFile, layout: FrameLayout, checksum: Int64, sealing: (any StoreSealing)? = nil,
        disk: DiskThreads? = nil
    ) {
        self.layout = layout
        self.sealing = sealing
        self.disk = disk
        self.checksum = checksum
        place = Lock(.temporary(file))
    }

    init(stored path: String, layout: FrameLayout, checksum: Int64, sealing: (any StoreSealing)? = nil, disk: DiskThreads? = nil) {
        self.layout = layout
        self.sealing = sealing
        self.disk = disk
        self.checksum = checksum
        place = Lock(.stored(path: path))
    }

    deinit { discard() }

    /// For the one put that may store it.
    /// - Returns: false for every other.
    func claim() -> Bool {
        isClaimed.withLock { isClaimed in
            defer { isClaimed = true }
            return !isClaimed
        }
    }

    /// The file is at its place: what was open here is closed.
    func settle(at path: String, name: String) {
        let former = place.withLock { place in
            let former = place
            place = .placed(path: path, name: name)
            return former
        }
        if case .temporary(let file) = former { close(file.descriptor) }
    }

    /// The name for the one row that may have it; nil when a row has it.
    func takeName() -> String? {
        place.withLock { place in
            guard case .placed(let path, let name) = place else { return nil }
            place = .stored(path: path)
            return name
        }
    }

    /// Removes the file, if it is still a temporary one.
    func discard() {
        let former = place.withLock { place in
            let former = place
            if case .temporary = place { place = .discarded }
            return former
        }
        if case .temporary(let file) = former { file.discard() }
    }

    /// The temporary file, for whoever moves it. It may be closed at any moment.
    var temporaryFile: TemporaryFile? {
        place.withLock { place in
            if case .temporary(let file) = place { return file }
            return nil
        }
    }

    func makeReader() throws(StoreError) -> BodyReader {
        // Under the lock, as `settle` closes what is copied here.
        let copy: (descriptor: Int32, path: String?) = place.withLock { place in
            switch place {
            case .temporary(let file): (fcntl(file.descriptor, F_DUPFD_CLOEXEC, 0), nil)
            case .stored(let path), .placed(let path, _): (-1, path)
            case .discarded: (-1, nil)
            }
        }
        if let path = copy.path { return try BodyReader(file: Files.openForReading(path), layout: layout, checksum: checksum, sealing) }
        guard copy.descriptor >= 0 else { throw StoreError(.missing, "the body was not kept") }
        return try BodyReader(file: copy.descriptor, layout: layout, checksum: checksum, sealing)
    }
}
