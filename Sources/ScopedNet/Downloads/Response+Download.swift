public import FoundationEssentials

extension Response where Value == URL {
    /// How many bytes of the file were there before the exchange that completed it: what an earlier download, or an earlier attempt of this
    /// one, had left (``DownloadOptions/resumes``). Zero for a file that came at once.
    public var resumedBytes: Int64 {
        guard source == .network, let length = head.contentLength else { return 0 }
        return max(0, length - metrics.bodyBytesReceived)
    }
}
