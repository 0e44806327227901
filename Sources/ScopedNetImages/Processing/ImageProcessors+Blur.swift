extension ImageProcessors {
    /// Blurs a picture as a Gaussian does, by three box blurs on each axis. Beyond the edges lie the pixels of the edge.
    ///
    /// The time does not depend on the radius. Boxes end within a pixel, so that their variance is exactly that of the
    /// Gaussian (Gwosdek et al., Theoretical Foundations of Gaussian Convolution by Extended Box Filtering, 2011).
    public struct Blur: ImageProcessing {
        /// The standard deviation in pixels, as `blur()` of CSS has it.
        public let radius: Double

        /// Makes the processor.
        ///
        /// - Parameter radius: the standard deviation in pixels. What is not above 0 changes nothing; one above the
        ///   longer side counts as that.
        public init(radius: Double) { self.radius = radius.isNaN ? 0 : max(0, radius) }

        /// The operation and the radius.
        public var identifier: String { "blur(\(radius))" }

        /// Blurs; see ``ImageProcessing/process(_:limits:)``.
        public func process(_ image: DecodedImage, limits: ImageLimits) throws -> DecodedImage {
            guard radius > 0, !image.size.isEmpty else { return image }
            try limits.check(image.size)
            // Two lines of numbers, and of columns as many at a time as share a cache line.
            let together = min(image.width, max(1, 4_096 / image.height))
            let length = max(image.width, image.height * together)
            try limits.check(scratch: length * 2 * MemoryLayout<PixelValues>.stride)
            let box = BoxBlur(radius: min(radius, Double(max(image.width, image.height))))
            var lines = BoxBlur.Lines(length)
            return try image.makeImage(image.size, limits) { source, result in
                for row in 0..<image.height {
                    let place = row * image.bytesPerRow
                    let line = Line(step: 4, count: image.width, next: 0, together: 1, isPremultiplied: image.isPremultiplied)
                    line.blur(source + place, result + place, box, &lines)
                }
                for column in stride(from: 0, to: image.width, by: together) {
                    let line = Line(
                        step: image.bytesPerRow, count: image.height, next: 4, together: min(together, image.width - column),
                        isPremultiplied: image.isPremultiplied)
                    line.blur(UnsafeRawPointer(result) + column * 4, result + column * 4, box, &lines)
                }
            }
        }
    }

    /// Neighbouring rows or columns of a picture that are blurred together.
    private struct Line {
        let step: Int
        let count: Int
        let next: Int
        let together: Int
        let isPremultiplied: Bool

        /// Blurs along the lines. Between both axes, pixels are bytes in the form of the picture: a colour that is the
        /// same everywhere stays so.
        func blur(_ source: UnsafeRawPointer, _ result: UnsafeMutableRawPointer, _ box: BoxBlur, _ lines: inout BoxBlur.Lines) {
            lines.load(count, together) { index, line in
                PixelCoding.load(source + index * step + line * next, isPremultiplied: isPremultiplied)
            }
            box.blur(&lines, count, together)
            lines.store(count, together) { index, line, values in
                PixelCoding.store(values, result + index * step + line * next, isPremultiplied: isPremultiplied)
            }
        }
    }
}

/// Three box blurs along a line of pixels.
struct BoxBlur {
    /// The whole pixels on each side of the middle one.
    private let reach: Int
    /// The weight of these.
    private let inner: Float
    /// The weight of the two pixels at the ends.
    private let outer: Float

    /// Makes boxes whose variance, three times, is that of a Gaussian.
    ///
    /// - Parameter radius: the standard deviation, above 0.
    init(radius: Double) {
        let variance = radius * radius / 3
        let whole = (((12 * variance + 1).squareRoot() - 1) / 2).rounded(.down)
        let part = (2 * whole + 1) * (whole * (whole + 1) - 3 * variance) / (6 * (variance - (whole + 1) * (whole + 1)))
        let width = 2 * (whole + part) + 1
        reach = Int(whole)
        (inner, outer) = (Float(1 / width), Float(part / width))
    }

    /// Two buffers of pixels, line after line or side by side: the one that is read, and the one that is written to.
    struct Lines {
        fileprivate var current: [PixelValues]
        fileprivate var other: [PixelValues]

        init(_ length: Int) {
            current = [PixelValues](repeating: .zero, count: length)
            other = current
        }

        @inline(__always)
        mutating func load(_ count: Int, _ together: Int, _ pixel: (_ index: Int, _ line: Int) -> PixelValues) {
            for index in 0..<count {
                for line in 0..<together { current[index * together + line] = pixel(index, line) }
            }
        }

        @inline(__always)
        func store(_ count: Int, _ together: Int, _ body: (_ index: Int, _ line: Int, PixelValues) -> Void) {
            for index in 0..<count {
                for line in 0..<together { body(index, line, current[index * together + line]) }
            }
        }
    }

    func blur(_ lines: inout Lines, _ count: Int, _ together: Int) {
        for _ in 0..<3 {
            lines.current.withUnsafeBufferPointer { from in
                lines.other.withUnsafeMutableBufferPointer { to in
                    for line in 0..<together { pass(from, to, count, line, together) }
                }
            }
            swap(&lines.current, &lines.other)
        }
    }

    /// One box blur of one line, by a sum that moves along.
    private func pass(
        _ from: UnsafeBufferPointer<PixelValues>, _ to: UnsafeMutableBufferPointer<PixelValues>, _ count: Int, _ line: Int, _ step: Int
    ) {
        func value(_ index: Int) -> PixelValues { from[min(max(0, index), count - 1) * step + line] }
        // Beyond the edges are the same two pixels, however far the box reaches: a thin picture has very many lines.
        let last = min(reach, count - 1)
        var sum = value(0) * Float(reach) + value(count - 1) * Float(reach - last)
        for index in 0...last { sum += value(index) }
        for index in 0..<count {
            let ends = value(index - reach - 1) + value(index + reach + 1)
            to[index * step + line] = sum * inner + ends * outer
            sum += value(index + reach + 1) - value(index - reach)
        }
    }
}
