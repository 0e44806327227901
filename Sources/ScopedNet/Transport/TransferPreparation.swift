import Glibc

/// What a transfer needs of a disk before it can begin: the file it uploads, and once for each
/// transport the files of pins.
struct TransferPreparation: Sendable {
    private let path: String?
    /// A file that is read while it is sent, and opened now to see that it is there.
    private let readPath: String?
    /// Nil once the pins are read.
    private let security: SecurityPolicy?
    private let group: BlockingPool.Group

    /// - Returns: nil when nothing is needed.
    init?(_ transfer: TransferRequest, unreadPins security: SecurityPolicy?) {
        switch transfer.body?.content {
        case .file(let path)?: (self.path, readPath) = (path, nil)
        case .stream(let source)?: (path, readPath) = (nil, source.path)
        case .data?, nil: (path, readPath) = (nil, nil)
        }
        guard path != nil || readPath != nil || security != nil else { return nil }
        self.security = security
        group = (path ?? readPath).map { BlockingPool.Group(folderOf: $0) } ?? .program
    }

    /// What was found. Made by one thread and taken by the network thread.
    struct Outcome: @unchecked Sendable {
        // Safety: the certificates of `trust` are not shared: who makes an outcome hands it over
        // and keeps nothing of it.
        var file: UploadFile?
        var trust: (hosts: SecuredHosts, rules: TrustRules)?
        var error: NetworkError?
    }

    /// Does it on a thread that may block.
    func begin(_ done: @escaping @Sendable (Outcome) -> Void) { BlockingPool.shared.submit(group) { done(run()) } }

    private func run() -> Outcome {
        var outcome = Outcome()
        do throws(NetworkError) {
            if let security { outcome.trust = (try SecuredHosts(security), try TrustRules(security)) }
            if let readPath { try PiecewiseFile.check(readPath) }
            if let path { outcome.file = try UploadFile(path, group: group) }
        } catch { outcome.error = error }
        return outcome
    }
}
