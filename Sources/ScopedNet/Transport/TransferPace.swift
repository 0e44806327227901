/// How fast one transfer may be (pure). See ``Pacer`` for how that is kept.
struct TransferPace: Sendable, Hashable {
    /// Bytes a second; nil is as fast as it goes.
    let upload: Int?
    let download: Int?

    /// Nil where there is no limit.
    init?(upload: Int?, download: Int?) {
        guard upload != nil || download != nil else { return nil }
        self.upload = upload.map { max(1, $0) }
        self.download = download.map { max(1, $0) }
    }

    /// Four pieces a second rather than a burst and a long rest. 1,024 is the least that libcurl takes.
    func bufferBytes(_ usual: Int) -> Int { download.map { min(usual, max(1_024, $0 / 4)) } ?? usual }

    /// The most bytes of a body that are handed over at once.
    var uploadPiece: Int { upload.map { max(1, $0 / 4) } ?? .max }
}
