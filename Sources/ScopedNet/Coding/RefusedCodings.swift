/// A chain of codings too long to be undone: a body without a byte is all it takes.
final class RefusedCodings: DecodingStage {
    private let count: Int
    let coding = "chained"

    init(count: Int) { self.count = count }

    func step(
        _ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) throws(ContentDecodingError) -> Int {
        throw .tooManyCodings(count)
    }

    func finish() throws(ContentDecodingError) {}
}
