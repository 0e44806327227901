import Glibc

/// A system call that failed.
package struct SystemFailure: Error, Hashable, CustomStringConvertible {
    package let call: String
    /// The number of errno(3).
    package let code: Int32

    /// Makes a failure with the present `errno`, unless another number is given.
    package init(_ call: String, _ code: Int32 = errno) {
        self.call = call
        self.code = code
    }

    /// The call, and the text of strerror(3).
    package var description: String { "\(call): \(Self.text(of: code))" }

    /// The text of strerror(3) for a number of errno(3), the present one unless another is given.
    package static func text(of code: Int32 = errno) -> String { String(cString: strerror(code)) }
}
