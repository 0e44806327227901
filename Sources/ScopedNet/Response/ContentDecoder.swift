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
        var inputBytes = 0
        var outputBytes = 0
    }

    /// The last coding applied by the server comes first: it is the first to be undone.
    private var links: [Link]
    private let limits: DecodingLimits
    private var failure: ContentDecodingError?

    /// - Parameter stages: at least one, in the order in which they undo the codings.
    init(stages: [any DecodingStage], limits: DecodingLimits) {
        self.links = stages.map { stage in
            Link(stage: stage, piece: .allocate(byteCount: Self.pieceSize, alignment: 16))
        }
        self.limits = limits
    }

    deinit {
        for link in links { link.piece.deallocate() }
    }

    /// The number of coded bytes received so far.
    package var receivedBytes: Int { links[0].inputBytes }

    /// The number of decoded bytes handed on so far.
    package var decodedBytes: Int { links[links.count - 1].outputBytes }

    /// Decodes the next bytes of the body and hands the result to `sink`, in order, before it returns.
    ///
    /// The buffer `sink` gets is valid during the call only. A `sink` that wants no more throws
    /// ``ContentDecodingError/stopped``; decoding ends there.
    package func decode(
        _ input: UnsafeRawBufferPointer,
        into sink: (UnsafeRawBufferPointer) throws(ContentDecodingError) -> Void
    ) throws(ContentDecodingError) {
        if let failure { throw failure }
        do {
            try run(0, input, sink)
        } catch {
            failure = error
            throw error
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

    /// Ends the body. Throws ``ContentDecodingError/truncated(coding:)`` when a coded stream has not reached its own end.
    ///
    /// A body without any byte is fine: a response to HEAD, a 204 or a 304 may carry `Content-Encoding` too.
    package func finish() throws(ContentDecodingError) {
        if let failure { throw failure }
        for link in links { try link.stage.finish() }
    }

    private func run(
        _ index: Int, _ input: UnsafeRawBufferPointer,
        _ sink: (UnsafeRawBufferPointer) throws(ContentDecodingError) -> Void
    ) throws(ContentDecodingError) {
        guard index < links.count else { return try sink(input) }
        links[index].inputBytes += input.count
        let stage = links[index].stage
        let piece = links[index].piece
        var rest = input
        while true {
            let before = rest.count
            let produced = try stage.step(&rest, into: piece)
            if produced > 0 {
                links[index].outputBytes += produced
                if let limit = limits.exceeded(output: links[index].outputBytes, input: links[index].inputBytes) {
                    throw .bomb(limit)
                }
                try run(index + 1, UnsafeRawBufferPointer(rebasing: piece[..<produced]), sink)
            }
            if rest.isEmpty && produced < piece.count { return }
            // A decoder that neither takes nor gives would keep us here for ever.
            if produced == 0 && rest.count == before { throw .corrupt(coding: stage.coding, detail: "no progress") }
        }
    }
}

@available(*, unavailable, message: "A decoder owns C handles; hand it from thread to thread, never share it.")
extension ContentDecoder: Sendable {}
