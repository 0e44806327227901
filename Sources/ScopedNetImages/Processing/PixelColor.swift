/// A colour in sRGB, eight bits for each of red, green, blue and alpha, which is not multiplied in.
public struct PixelColor: Sendable, Hashable {
    /// Red, from 0 to 255.
    public var red: UInt8
    /// Green, from 0 to 255.
    public var green: UInt8
    /// Blue, from 0 to 255.
    public var blue: UInt8
    /// Alpha: 0 is transparent, 255 opaque.
    public var alpha: UInt8

    /// Black, opaque.
    public static let black = PixelColor(0, 0, 0)
    /// White, opaque.
    public static let white = PixelColor(255, 255, 255)

    /// Makes a colour.
    ///
    /// - Parameters:
    ///   - red: from 0 to 255.
    ///   - green: from 0 to 255.
    ///   - blue: from 0 to 255.
    ///   - alpha: from 0, transparent, to 255. Default: opaque.
    public init(_ red: UInt8, _ green: UInt8, _ blue: UInt8, _ alpha: UInt8 = 255) {
        (self.red, self.green, self.blue, self.alpha) = (red, green, blue, alpha)
    }
}

extension PixelColor: CustomStringConvertible {
    /// Eight hexadecimal digits.
    public var description: String {
        [red, green, blue, alpha].map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
