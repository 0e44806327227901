extension ImageProcessors {
    /// Mixes a colour into a picture. Alpha stays as it is.
    public struct Tint: ImageProcessing {
        /// The way of mixing (W3C Compositing and Blending Level 1, sections 9.1.9 and 10.1.2).
        public enum Mode: String, Sendable, Hashable {
            /// The picture's own colours are multiplied by the colour: white takes it on, black stays.
            case multiply
            /// The colour takes the place of the picture's own, where the picture is not transparent: for symbols of one colour.
            case sourceAtop
        }

        /// The colour. Its alpha counts as a part of the strength.
        public let color: PixelColor
        /// From 0, nothing changes, to 1.
        public let strength: Double
        /// The way of mixing.
        public let mode: Mode

        /// Makes the processor.
        ///
        /// - Parameters:
        ///   - color: the colour. Its alpha counts as a part of the strength.
        ///   - strength: from 0, nothing changes, to 1, the default; what lies outside is the nearer of both.
        ///   - mode: the way of mixing. Default: the colour takes the place of the picture's own.
        public init(_ color: PixelColor, strength: Double = 1, mode: Mode = .sourceAtop) {
            (self.color, self.mode) = (color, mode)
            self.strength = strength.isNaN ? 0 : min(1, max(0, strength))
        }

        /// The operation, the mode, the colour and the strength.
        public var identifier: String { "tint(\(mode.rawValue),\(color),\(strength))" }

        /// Mixes in the colour; see ``ImageProcessing/process(_:limits:)``.
        public func process(_ image: DecodedImage, limits: ImageLimits) throws -> DecodedImage {
            let part = strength * Double(color.alpha) / 255
            guard part > 0, !image.size.isEmpty else { return image }
            let tables = [color.red, color.green, color.blue].map { Table($0, part, mode) }
            return try image.makeImage(image.size, limits) { source, result in
                let from = source.assumingMemoryBound(to: UInt8.self)
                let to = result.assumingMemoryBound(to: UInt8.self)
                for place in stride(from: 0, to: image.byteCount, by: 4) {
                    let alpha = from[place + 3]
                    to[place + 3] = alpha
                    let whole = image.isPremultiplied ? alpha : 255
                    for channel in 0..<3 { to[place + channel] = tables[channel].mix(from[place + channel], whole) }
                }
            }
        }

        /// The result for each value of one channel: the part of the picture's own colour, and the part of the tint that is added.
        private struct Table {
            private var own: [Float]
            private var added: [Float]

            init(_ tint: UInt8, _ part: Double, _ mode: Mode) {
                let (kept, share) =
                    switch mode {
                    case .multiply: (1 - part + part * Double(tint) / 255, 0.0)
                    case .sourceAtop: (1 - part, part * Double(tint) / 255)
                    }
                own = (0..<256).map { Float(Double($0) * kept) }
                added = (0..<256).map { Float(Double($0) * share) }
            }

            /// Mixes one value.
            ///
            /// - Parameters:
            ///   - value: the value.
            ///   - whole: the largest value that it can have: alpha, where colours are multiplied by it.
            /// - Returns: the nearest value of the mixture.
            @inline(__always)
            func mix(_ value: UInt8, _ whole: UInt8) -> UInt8 {
                min(whole, UInt8(truncatingIfNeeded: Int32(own[Int(value)] + added[Int(whole)] + 0.5)))
            }
        }
    }
}
