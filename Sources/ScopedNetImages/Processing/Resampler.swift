/// Resizes a region of a picture.
///
/// Rows of the source are read once, from the top. A few of them are averaged into one (``ResampleAxis/factor``), which
/// the filter brings to the width of the result; the last of these rows are kept, and the filter makes the rows of the
/// result of them. Besides the result it takes one row of the averaged source, and a handful of the result's. Colours
/// are multiplied by alpha on the way, so that those of transparent pixels do not count; numbers are sRGB as they are
/// stored, as browsers, Pillow and gdk-pixbuf resize.
struct Resampler {
    private let columns: ResampleAxis
    private let rows: ResampleAxis
    private let size: PixelSize

    /// The bytes that it needs besides the result.
    private var scratch: Int { (columns.count + rows.reach * size.width) * MemoryLayout<PixelValues>.stride }

    /// Resizes a region.
    ///
    /// - Parameters:
    ///   - image: the picture.
    ///   - x: the first column and the width of the region.
    ///   - y: the first row and the height of the region.
    ///   - size: the size of the result.
    ///   - limits: the most pixels and bytes.
    /// - Returns: the new picture.
    /// - Throws: ``ImageError/exceeds(_:actual:most:)``.
    static func resize(
        _ image: DecodedImage, x: (start: Double, extent: Double), y: (start: Double, extent: Double), to size: PixelSize,
        _ limits: ImageLimits
    ) throws -> DecodedImage {
        try limits.check(size)
        let resampler = Resampler(
            columns: ResampleAxis(source: image.width, start: x.start, extent: x.extent, result: size.width),
            rows: ResampleAxis(source: image.height, start: y.start, extent: y.extent, result: size.height), size: size)
        try limits.check(scratch: resampler.scratch)
        return try image.makeImage(size, limits) { source, result in
            let from = Source(pixels: source, bytesPerRow: image.bytesPerRow, isPremultiplied: image.isPremultiplied)
            resampler.draw(from, result)
        }
    }

    private func draw(_ source: Source, _ result: UnsafeMutableRawPointer) {
        var averaged = [PixelValues](repeating: .zero, count: columns.count)
        var kept = [PixelValues](repeating: .zero, count: rows.reach * size.width)
        var sums = RowSums()
        var next = 0
        for y in 0..<size.height {
            let (first, place) = (rows.first[y], rows.places[y])
            let reach = rows.places[y + 1] - place
            next = max(next, first)
            while next < first + reach {
                average(source, row: next, &sums, &averaged)
                averaged.withUnsafeBufferPointer { row in
                    kept.withUnsafeMutableBufferPointer { filter(row, $0, at: next % rows.reach * size.width) }
                }
                next += 1
            }
            combine(kept, first, place, reach, result + y * size.width * 4, source.isPremultiplied)
        }
    }

    /// Averages the source rows of one row.
    private func average(_ source: Source, row: Int, _ sums: inout RowSums, _ averaged: inout [PixelValues]) {
        if rows.factor == 1, columns.factor == 1 { return source.load(row: rows.origin + row, from: columns.origin, &averaged) }
        for index in averaged.indices { averaged[index] = .zero }
        let top = rows.origin + row * rows.factor
        let height = min(rows.factor, rows.origin + rows.length - top)
        for left in stride(from: 0, to: columns.length, by: RowSums.width) {
            let width = min(RowSums.width, columns.length - left)
            for start in stride(from: top, to: top + height, by: RowSums.height) {
                let block = start..<min(start + RowSums.height, top + height)
                sums.add(source, columns.origin + left, width, rows: block)
                sums.flush(left, width, columns.factor, &averaged)
            }
        }
        let unit = 1 / (Float(columns.factor) * Float(height))
        for index in averaged.indices { averaged[index] *= unit }
        // The last one may be of fewer.
        let rest = columns.length - (columns.count - 1) * columns.factor
        averaged[columns.count - 1] *= Float(columns.factor) / Float(rest)
    }

    /// Brings an averaged row to the width of the result.
    private func filter(
        _ row: UnsafeBufferPointer<PixelValues>, _ result: UnsafeMutableBufferPointer<PixelValues>, at start: Int
    ) {
        columns.weights.withUnsafeBufferPointer { weights in
            for x in 0..<size.width {
                var sum = PixelValues.zero
                var index = columns.first[x]
                for place in columns.places[x]..<columns.places[x + 1] {
                    sum += row[index] * weights[place]
                    index &+= 1
                }
                result[start + x] = sum
            }
        }
    }

    /// Makes one row of the result.
    private func combine(
        _ kept: [PixelValues], _ first: Int, _ place: Int, _ reach: Int, _ result: UnsafeMutableRawPointer, _ isPremultiplied: Bool
    ) {
        let inputs = (0..<reach).map { (start: (first + $0) % rows.reach * size.width, weight: rows.weights[place + $0]) }
        kept.withUnsafeBufferPointer { kept in
            for x in 0..<size.width {
                var sum = PixelValues.zero
                for input in inputs { sum += kept[input.start + x] * input.weight }
                PixelCoding.store(sum, result + x * 4, isPremultiplied: isPremultiplied)
            }
        }
    }
}

extension Resampler {
    /// The pixels that are read.
    struct Source {
        let pixels: UnsafeRawPointer
        let bytesPerRow: Int
        let isPremultiplied: Bool

        /// Reads a part of a row.
        func load(row: Int, from column: Int, _ values: inout [PixelValues]) {
            let start = pixels + row * bytesPerRow + column * 4
            values.withUnsafeMutableBufferPointer { values in
                for index in values.indices { values[index] = PixelCoding.load(start + index * 4, isPremultiplied: isPremultiplied) }
            }
        }
    }

    /// Sums of some rows, pixel by pixel, in a strip that stays in the first cache.
    ///
    /// Rows with opaque pixels alone, and those with colours that are multiplied already, are summed up in sixteen
    /// bits, which processors do eight or more at a time. Others are multiplied by alpha first, and summed up in
    /// thirty-two.
    struct RowSums {
        /// Pixels of a strip.
        static let width = 1_024
        /// Rows of a sum, as many as sixteen bits hold.
        static let height = 256

        private var narrow = [UInt16](repeating: 0, count: width * 4)
        private var wide: [UInt32] = []
        private var hasNarrow = false
        private var hasWide = false

        mutating func add(_ source: Source, _ column: Int, _ width: Int, rows: Range<Int>) {
            for row in rows {
                let pixels = source.pixels + row * source.bytesPerRow + column * 4
                if source.isPremultiplied || Self.isOpaque(pixels, width) {
                    hasNarrow = true
                    narrow.withUnsafeMutableBufferPointer { Self.add(pixels, width * 4, $0) }
                } else {
                    if wide.isEmpty { wide = [UInt32](repeating: 0, count: Self.width * 4) }
                    hasWide = true
                    wide.withUnsafeMutableBufferPointer { Self.addMultiplied(pixels, width, $0) }
                }
            }
        }

        /// Adds the sums to averaged pixels, and begins anew.
        mutating func flush(_ left: Int, _ width: Int, _ factor: Int, _ averaged: inout [PixelValues]) {
            if hasNarrow { Self.flush(&narrow, left, width, factor, 1, &averaged) }
            if hasWide { Self.flush(&wide, left, width, factor, 1 / 255, &averaged) }
            (hasNarrow, hasWide) = (false, false)
        }

        private static func isOpaque(_ pixels: UnsafeRawPointer, _ width: Int) -> Bool {
            let words = pixels.assumingMemoryBound(to: UInt32.self)
            var all = UInt32.max
            for index in 0..<width { all &= words[index] }
            return UInt32(littleEndian: all) >= 0xFF00_0000
        }

        private static func add(_ pixels: UnsafeRawPointer, _ count: Int, _ sums: UnsafeMutableBufferPointer<UInt16>) {
            let bytes = pixels.assumingMemoryBound(to: UInt8.self)
            for index in 0..<count { sums[index] &+= UInt16(bytes[index]) }
        }

        private static func addMultiplied(_ pixels: UnsafeRawPointer, _ width: Int, _ sums: UnsafeMutableBufferPointer<UInt32>) {
            let bytes = pixels.assumingMemoryBound(to: UInt8.self)
            for index in stride(from: 0, to: width * 4, by: 4) {
                let alpha = UInt32(bytes[index + 3])
                sums[index] &+= UInt32(bytes[index]) &* alpha
                sums[index + 1] &+= UInt32(bytes[index + 1]) &* alpha
                sums[index + 2] &+= UInt32(bytes[index + 2]) &* alpha
                sums[index + 3] &+= alpha &* 255
            }
        }

        private static func flush<Sum: FixedWidthInteger>(
            _ sums: inout [Sum], _ left: Int, _ width: Int, _ factor: Int, _ unit: Float, _ averaged: inout [PixelValues]
        ) {
            sums.withUnsafeMutableBufferPointer { sums in
                var (column, index) = (0, left / factor)
                while column < width {
                    let end = min(width, (index + 1) * factor - left)
                    // Numbers and not integers: a strip of the wide sums is more than thirty-two bits hold.
                    var sum = PixelValues.zero
                    for place in stride(from: column * 4, to: end * 4, by: 4) {
                        sum += PixelValues(
                            Float(Int32(truncatingIfNeeded: sums[place])), Float(Int32(truncatingIfNeeded: sums[place + 1])),
                            Float(Int32(truncatingIfNeeded: sums[place + 2])), Float(Int32(truncatingIfNeeded: sums[place + 3])))
                    }
                    averaged[index] += sum * unit
                    (column, index) = (end, index + 1)
                }
                for index in 0..<width * 4 { sums[index] = 0 }
            }
        }
    }
}
