/// How a download to a file deals with its disk. The defaults leave nothing behind but the complete file.
public struct DownloadOptions: Sendable, Hashable {
    /// Whether a download goes on where an earlier one to the same file broke off, and leaves behind what the next one needs for that: a
    /// part of the file and a record of where it came from, beside the file (``PartialDownload``). Default: false.
    ///
    /// It counts for GET requests without a range, a condition or a body of their own whose policy lets them ask the server; others are
    /// downloaded as if it were false, and so are those whose target is known too late: a folder, or one
    /// that `chooseDestination` names, the session's included. `decideDisposition` is asked when a file
    /// begins, and not about the rest of one.
    public var resumes = false
    /// Whether the bytes, and the name, are on the device before the download succeeds (fsync(2)). Default: false, as that takes seconds for a
    /// large file, and what a power cut takes away can be had again.
    public var synchronizes = false

    /// Makes the defaults: nothing is kept of a download that breaks off, and nothing is synchronized.
    public init() {}
}
