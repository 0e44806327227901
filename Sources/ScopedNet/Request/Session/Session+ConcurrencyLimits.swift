extension Session {
    /// The limits of single hosts that move while requests are being sent.
    public var concurrencyLimits: ConcurrencyLimits { ConcurrencyLimits(session: self) }

    /// Limits on the requests that are sent to a host at once, which an adaptive limit moves up and down.
    ///
    /// ```swift
    /// try session.concurrencyLimits.set(2, for: "https://api.example.com/")
    /// ```
    ///
    /// A limit takes the place of ``ConnectionLimits/perHost`` and ``ConnectionLimits/streamsPerHost`` for its scheme, host and port, whatever version of HTTP
    /// that speaks; ``ConnectionLimits/total`` holds besides. Streams and channels are not counted (``ConnectionLimits/live``).
    public struct ConcurrencyLimits: Sendable {
        let session: Session

        /// Sets the limit of a host, from now on.
        ///
        /// A lower one ends nothing that is being sent. With a higher one those that wait begin at once, by their priorities; the time they have waited counts on.
        /// It is remembered as long as the connections of the session, which derived sessions share. Any thread.
        ///
        /// - Parameters:
        ///   - limit: at least 1, which is taken for less; nil for the limits of the settings again.
        ///   - url: its path does not matter. A relative one is of the session's base URL.
        /// - Throws: ``NetworkError`` with code `invalidURL` or `unsupportedScheme`.
        public func set(_ limit: Int?, for url: some URLConvertible) throws(NetworkError) {
            let target = try origin(of: url)
            session.admission.setLimit(limit, of: target)
        }

        /// Returns the limit that was set for a host; nil where the settings hold.
        ///
        /// - Throws: as ``set(_:for:)``.
        public func limit(for url: some URLConvertible) throws(NetworkError) -> Int? {
            session.admission.limit(ofOrigin: try origin(of: url))
        }

        /// The origin that is asked for a URL, with HSTS.
        private func origin(of url: some URLConvertible) throws(NetworkError) -> OriginKey {
            let target = try session.url(url.urlReference)
            return (try session.upgraded(target) ?? target).originKey
        }
    }
}
