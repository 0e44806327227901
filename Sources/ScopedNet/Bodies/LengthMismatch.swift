/// The bytes of a body are not as many as were declared.
struct LengthMismatch: Error, CustomStringConvertible {
    let declared: Int64
    let seen: Int64
    var description: String {
        seen > declared
            ? "the body is longer than the \(declared) bytes declared"
            : "the body ended after \(seen) of the \(declared) bytes declared"
    }
}
