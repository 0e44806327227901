/// Undoes the content codings of a response body while it arrives (RFC 9110 section 8.4).
///
/// It knows `gzip` (also as `x-gzip`, and in several members), `deflate` (in the zlib wrapper the RFC asks for, and bare as some
/// servers send it), `br` and `zstd` where the traits `Brotli` and `Zstd` are on, and chains of them.
///
/// The bytes that come out are handed on in pieces of at most 32 KiB, so memory does not depend on how far a body expands.
/// An instance decodes one body, is used from one thread at a time, and after an error repeats that error.
package final class ContentDecoder {
    /// The size of the pieces that decoded bytes are handed on in.
    private static let pieceSize = 32 << 10

    private struct Link {
        let stage: any DecodingStage
        let piece: UnsafeMutableRawBufferPointer
        var meter: ExpansionMeter
        /// The part of `piece` that the next link, or the reader, has not taken yet.
        var ready = 0..<0
        /// The last step filled the piece: the stage may have more to give without further input.
        var mayHaveMore = false
    }

    /// The last coding applied by the server comes first: it is the first to be undone.
    private var links: [Link]
    private var failure: ContentDecodingError?

    /// Makes a decoder of at least one stage, in the order in which they undo the codings.
    init(stages: [any DecodingStage], limits: DecodingLimits) {
        self.links = stages.map { stage in
            Link(stage: stage, piece: .allocate(byteCount: Self.pieceSize, alignment: 16), meter: ExpansionMeter(limits: limits))
        }
    }

    deinit {
        for link in links { link.piece.deallocate() }
    }

    /// The number of coded bytes taken so far.
    package var receivedBytes: Int { links[0].meter.input }

    /// The number of decoded bytes produced so far.
    package var decodedBytes: Int { links[links.count - 1].meter.output }

    /// Decodes the next bytes of the body and hands the result to `sink`, in order, before it returns.
    ///
    /// The buffer `sink` gets is valid during the call only. A `sink` that wants no more throws
    /// ``ContentDecodingError/stopped``; decoding ends there.
    package func decode(
        _ input: UnsafeRawBufferPointer,
        into sink: (UnsafeRawBufferPointer) throws(ContentDecodingError) -> Void
    ) throws(ContentDecodingError) {
        var rest = input
        while let piece = try next(from: &rest, upTo: .max) {
            do throws(ContentDecodingError) { try sink(piece) } catch {
                failure = error
                throw error
            }
        }
    }

    /// Decodes the next bytes of the body and appends the result to `output`.
    package func decode(_ input: UnsafeRawBufferPointer, appendingTo output: inout [UInt8]) throws(ContentDecodingError) {
        // The array leaves its place for the call, so that appending to it never copies it.
        var collected = output
        output = []
        defer { output = collected }
        try decode(input) { (piece: UnsafeRawBufferPointer) throws(ContentDecodingError) in
            collected.append(contentsOf: piece)
        }
    }

    /// Decodes a part of `input`, and takes that from its front.
    ///
    /// Call it with the same input until it returns nil: all of it was decoded then, and everything
    /// that comes of it has been returned.
    ///
    /// - Returns: decoded bytes, 1 to `most` of them and 32 KiB at most, valid until the next call.
    package func next(
        from input: inout UnsafeRawBufferPointer, upTo most: Int
    ) throws(ContentDecodingError) -> UnsafeRawBufferPointer? {
        if let failure { throw failure }
        let last = links.count - 1
        do {
            if links[last].ready.isEmpty, try !pull(last, &input) { return nil }
        } catch {
            failure = error
            throw error
        }
        let ready = links[last].ready
        let end = ready.lowerBound + min(ready.count, max(1, most))
        links[last].ready = end..<ready.upperBound
        return UnsafeRawBufferPointer(rebasing: links[last].piece[ready.lowerBound..<end])
    }

    /// Ends the body. Throws ``ContentDecodingError/truncated(coding:)`` when a coded stream has not reached its own end.
    ///
    /// A body without any byte is fine: a response to HEAD, a 204 or a 304 may carry `Content-Encoding` too.
    package func finish() throws(ContentDecodingError) {
        if let failure { throw failure }
        for link in links { try link.stage.finish() }
    }

    /// Fills the piece of a link.
    ///
    /// - Returns: false when nothing comes out without more input.
    private func pull(_ index: Int, _ input: inout UnsafeRawBufferPointer) throws(ContentDecodingError) -> Bool {
        while true {
            var source = index == 0 ? input : UnsafeRawBufferPointer(rebasing: links[index - 1].piece[links[index - 1].ready])
            if source.isEmpty, !links[index].mayHaveMore {
                guard index > 0, try pull(index - 1, &input) else { return false }
                continue
            }
            if try step(index, &source, input: &input) { return true }
        }
    }

    /// Lets a link's stage take from its source once.
    ///
    /// - Returns: whether anything came out.
    private func step(
        _ index: Int, _ source: inout UnsafeRawBufferPointer, input: inout UnsafeRawBufferPointer
    ) throws(ContentDecodingError) -> Bool {
        let (stage, piece, before) = (links[index].stage, links[index].piece, source.count)
        let produced = try stage.step(&source, into: piece)
        let taken = before - source.count
        links[index].meter.take(taken)
        if index == 0 { input = source } else { links[index - 1].ready.removeFirst(taken) }
        links[index].mayHaveMore = produced == piece.count
        links[index].ready = 0..<produced
        guard produced > 0 else {
            // A decoder that neither takes nor gives would keep us here for ever.
            if taken == 0, before > 0 { throw .corrupt(coding: stage.coding, detail: "no progress") }
            return false
        }
        if let limit = links[index].meter.produce(produced) { throw .bomb(limit) }
        return true
    }
}

extension Range where Bound == Int {
    fileprivate mutating func removeFirst(_ count: Int) { self = (lowerBound + count)..<upperBound }
}

@available(*, unavailable, message: "A decoder owns C handles; hand it from thread to thread, never share it.")
extension ContentDecoder: Sendable {}
