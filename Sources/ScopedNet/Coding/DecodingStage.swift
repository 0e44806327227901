/// One link of a chain of content codings: a wrapper of one C decoder.
///
/// A stage owns a C handle and is used from one thread at a time. It allocates what its format's window needs (32 KiB for
/// deflate, at most 16 MiB for brotli, at most 8 MiB for zstd) and nothing in proportion to a size the body claims.
protocol DecodingStage: AnyObject {
    /// The name of the coding, for errors.
    var coding: String { get }

    /// Consumes a part of `input` from its front and writes decoded bytes to the front of `output`.
    ///
    /// A result smaller than `output` together with an empty `input` says that nothing more can come out for now.
    /// - Returns: the number of bytes written to `output`.
    func step(
        _ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) throws(ContentDecodingError) -> Int

    /// Checks that the stream ended where a stream may end. A stage that was given no byte has nothing to decode, and is content.
    func finish() throws(ContentDecodingError)
}
