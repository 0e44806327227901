import Glibc
import ScopedNetImages

/// Paints landscapes: a sky, a sun, four ranges of hills in the haze, and a lake that reflects them. The same number gives the same landscape.
struct Painter {
    private typealias Color = SIMD3<Float>

    private static let skies: [(top: Color, low: Color, hill: Color)] = [
        (.init(24, 40, 92), .init(246, 150, 92), .init(38, 30, 66)), (.init(74, 144, 212), .init(226, 240, 250), .init(36, 84, 76)),
        (.init(12, 20, 48), .init(74, 96, 156), .init(10, 16, 34)), (.init(122, 74, 134), .init(252, 196, 158), .init(70, 40, 82)),
        (.init(46, 132, 160), .init(250, 228, 180), .init(28, 72, 70)), (.init(140, 156, 176), .init(224, 226, 228), .init(62, 74, 86)),
    ]

    let number: Int

    private func random(_ salt: Int) -> Float {
        var value = UInt64(truncatingIfNeeded: number &* 1_000_003 &+ salt &* 7919) &* 0x9E37_79B9_7F4A_7C15
        value ^= value >> 29
        value = value &* 0xBF58_476D_1CE4_E5B9
        return Float(value >> 40) / Float(1 << 24)
    }

    func paint(width: Int, height: Int) throws -> DecodedImage {
        let sky = Self.skies[number % Self.skies.count]
        let (sunX, sunY, sunSize) = (0.15 + 0.7 * random(1), 0.15 + 0.3 * random(2), 0.03 + 0.03 * random(3))
        let ridges = (0..<4).map { ridge($0, width) }
        let shore: Float = 0.72 + 0.1 * random(4)
        let aspect = Float(width) / Float(height)
        func color(_ x: Int, _ y: Float) -> Color {
            var color = sky.top + (sky.low - sky.top) * min(1, y / 0.62)
            let (dx, dy) = ((Float(x) / Float(width) - sunX) * aspect, y - sunY)
            let distance = (dx * dx + dy * dy).squareRoot()
            let glow = max(0, 1 - distance / (sunSize * 7))
            color += (Color(255, 244, 214) - color) * (distance < sunSize ? 1 : glow * glow * 0.6)
            for (index, ridge) in ridges.enumerated() where y > ridge[x] {
                let haze = 0.62 - 0.19 * Float(index)
                color = sky.hill + (sky.low - sky.hill) * haze
                color *= 1 - 0.25 * min(1, (y - ridge[x]) * 3)
            }
            return color
        }
        return try DecodedImage(width: width, height: height) { pixels in
            for row in 0..<height {
                let y = Float(row) / Float(height)
                let isWater = y > shore
                let wave = isWater ? Int(sin(Float(row) * 0.7 + random(5) * 6) * Float(row) / Float(height) * 5) : 0
                for column in 0..<width {
                    var value = color(min(width - 1, max(0, column + wave)), isWater ? 2 * shore - y : y)
                    if isWater { value = value * 0.78 + Color(18, 34, 52) * 0.22 }
                    value = value.clamped(lowerBound: .zero, upperBound: .init(repeating: 255))
                    let place = (row * width + column) * 4
                    for channel in 0..<3 { pixels[place + channel] = UInt8(value[channel]) }
                    pixels[place + 3] = 255
                }
            }
        }
    }

    /// The height of a range of hills above each column, as a share from the top.
    private func ridge(_ index: Int, _ width: Int) -> [Float] {
        let base = 0.42 + 0.1 * Float(index) + 0.05 * random(10 + index)
        let size = 0.10 - 0.015 * Float(index)
        let phases = (0..<5).map { random(20 + index * 5 + $0) * 6.28 }
        return (0..<width).map { column in
            let x = Float(column) / Float(width) * 6.28
            var height: Float = 0
            for (octave, phase) in phases.enumerated() {
                height += sin(x * Float(1 + octave * 2) * (0.6 + 0.3 * Float(index)) + phase) / Float(1 + octave * 2)
            }
            return base - size * height
        }
    }
}
