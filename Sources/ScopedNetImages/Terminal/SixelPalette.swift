/// The colours of a sixel picture, at most 256.
struct SixelPalette {
    /// The colours.
    private(set) var colors: [PixelColor]
    /// True where each colour of the picture is here.
    private let isExact: Bool
    /// For each colour of fifteen bits, the nearest one here; -1 where it was not looked for.
    private var nearest: [Int16] = []

    /// Takes the colours of a picture, or chooses them by median cut where they are too many.
    init(_ dots: [PixelColor?]) {
        var known: Set<PixelColor> = []
        for case let color? in dots {
            known.insert(color)
            if known.count > 256 { break }
        }
        isExact = known.count <= 256
        if isExact {
            colors = known.sorted { ($0.red, $0.green, $0.blue) < ($1.red, $1.green, $1.blue) }
        } else {
            var cut = MedianCut(dots)
            colors = cut.colors(256)
        }
    }

    /// The place of a colour among those of fifteen bits.
    fileprivate static func key(_ red: Int, _ green: Int, _ blue: Int) -> Int { (red >> 3) << 10 | (green >> 3) << 5 | blue >> 3 }

    /// Finds the colour of each dot.
    mutating func indices(of dots: [PixelColor?], width: Int) -> [UInt8?] {
        guard isExact else { return dithered(dots, width) }
        var places: [PixelColor: UInt8] = [:]
        for (index, color) in colors.enumerated() { places[color] = UInt8(truncatingIfNeeded: index) }
        return dots.map { $0.flatMap { places[$0] } }
    }

    /// Floyd–Steinberg: the error of each dot is carried on to the four that follow it.
    private mutating func dithered(_ dots: [PixelColor?], _ width: Int) -> [UInt8?] {
        nearest = [Int16](repeating: -1, count: 1 << 15)
        var result = [UInt8?](repeating: nil, count: dots.count)
        // Sixteenths; a place more on each side.
        var (errors, below) = ([SIMD4<Int32>](repeating: .zero, count: width + 2), [SIMD4<Int32>](repeating: .zero, count: width + 2))
        for start in stride(from: 0, to: dots.count, by: width) {
            for column in 0..<width {
                guard let color = dots[start + column] else { continue }
                let wanted = SIMD4(Int32(color.red), Int32(color.green), Int32(color.blue), 0) &+ errors[column + 1] / 16
                let value = wanted.clamped(lowerBound: .zero, upperBound: SIMD4(repeating: 255))
                let index = index(of: value)
                result[start + column] = UInt8(truncatingIfNeeded: index)
                let error = value &- SIMD4(Int32(colors[index].red), Int32(colors[index].green), Int32(colors[index].blue), 0)
                errors[column + 2] &+= error &* 7
                below[column] &+= error &* 3
                below[column + 1] &+= error &* 5
                below[column + 2] &+= error
            }
            swap(&errors, &below)
            for index in below.indices { below[index] = .zero }
        }
        return result
    }

    private mutating func index(of color: SIMD4<Int32>) -> Int {
        let key = Self.key(Int(color.x), Int(color.y), Int(color.z))
        if nearest[key] >= 0 { return Int(nearest[key]) }
        var (best, least) = (0, Int32.max)
        for (index, other) in colors.enumerated() {
            let (red, green, blue) = (color.x - Int32(other.red), color.y - Int32(other.green), color.z - Int32(other.blue))
            let distance = red * red + green * green + blue * blue
            if distance < least { (best, least) = (index, distance) }
        }
        nearest[key] = Int16(truncatingIfNeeded: best)
        return best
    }
}

/// Median cut (Heckbert, Color Image Quantization for Frame Buffer Display, 1982), on colours of five bits a channel.
private struct MedianCut {
    /// The dots of one colour of fifteen bits.
    private struct Bin {
        var count = 0
        var sums = SIMD4<Int>.zero
        var levels = SIMD4<Int>.zero
    }

    /// Bins that become one colour, or are split.
    private struct Box {
        let range: Range<Int>
        let count: Int
        let axis: Int
        let extent: Int

        init(_ bins: [Bin], _ range: Range<Int>) {
            self.range = range
            count = bins[range].reduce(0) { $0 + $1.count }
            var (low, high) = (SIMD4<Int>(repeating: 31), SIMD4<Int>.zero)
            for bin in bins[range] {
                low.replace(with: bin.levels, where: bin.levels .< low)
                high.replace(with: bin.levels, where: bin.levels .> high)
            }
            let extents = high &- low
            let longest = (0..<3).max { extents[$0] < extents[$1] } ?? 0
            (axis, extent) = (longest, extents[longest])
        }

        /// Boxes with many dots of many colours are split first.
        var priority: Int { count * extent }
    }

    private var bins: [Bin]

    init(_ dots: [PixelColor?]) {
        var all = [Bin](repeating: Bin(), count: 1 << 15)
        for case let color? in dots {
            let (red, green, blue) = (Int(color.red), Int(color.green), Int(color.blue))
            let key = SixelPalette.key(red, green, blue)
            all[key].count += 1
            all[key].sums &+= SIMD4(red, green, blue, 0)
            all[key].levels = SIMD4(red >> 3, green >> 3, blue >> 3, 0)
        }
        bins = all.filter { $0.count > 0 }
    }

    /// Chooses at most so many colours, each the mean of its dots.
    mutating func colors(_ most: Int) -> [PixelColor] {
        var boxes = [Box(bins, bins.indices)]
        while boxes.count < most {
            guard let widest = boxes.indices.max(by: { boxes[$0].priority < boxes[$1].priority }), boxes[widest].extent > 0 else { break }
            let (left, right) = split(boxes[widest])
            boxes[widest] = left
            boxes.append(right)
        }
        return boxes.map { box in
            let sums = bins[box.range].reduce(SIMD4<Int>.zero) { $0 &+ $1.sums }
            func mean(_ channel: Int) -> UInt8 { UInt8(clamping: (sums[channel] + box.count / 2) / max(1, box.count)) }
            return PixelColor(mean(0), mean(1), mean(2))
        }
    }

    /// Splits a box of two bins or more at the median of its longest axis.
    private mutating func split(_ box: Box) -> (Box, Box) {
        bins[box.range].sort { $0.levels[box.axis] < $1.levels[box.axis] }
        var (place, count) = (box.range.lowerBound, 0)
        while place < box.range.upperBound - 1, count + bins[place].count <= box.count / 2 {
            count += bins[place].count
            place += 1
        }
        place = max(place, box.range.lowerBound + 1)
        return (Box(bins, box.range.lowerBound..<place), Box(bins, place..<box.range.upperBound))
    }
}
