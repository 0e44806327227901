/// One axis of a resize: the source pixels that each pixel of the result is made of, and their weights (pure).
///
/// On a side that shrinks to a sixth or less, `factor` source pixels are averaged first, so many that a ratio of 3 or
/// more is left for the filter. The filter is a triangle as wide as two pixels of the result (or of the source, on a
/// side that grows). Averaging costs one addition for each source pixel; the triangle on all of them would cost two
/// multiplications and more: 36 ms in place of 14 for 12 million pixels.
struct ResampleAxis {
    /// The first source pixel that is used.
    let origin: Int
    /// The number of source pixels that are used.
    let length: Int
    /// The number of source pixels that are averaged before the filter.
    let factor: Int
    /// For each pixel of the result, the index of the first averaged pixel with a weight.
    private(set) var first: [Int] = []
    /// For each pixel of the result, the place of its first weight; and the number of all weights at the end.
    private(set) var places: [Int] = [0]
    /// The weights of all pixels; those of each sum up to 1.
    private(set) var weights: [Float] = []
    /// The largest number of weights of a pixel.
    private(set) var reach = 1

    /// The number of averaged pixels.
    var count: Int { (length + factor - 1) / factor }

    /// Makes the weights. What lies outside of the region is not looked at.
    ///
    /// - Parameters:
    ///   - source: the pixels of the source, at least 1.
    ///   - start: the place where the region begins.
    ///   - extent: the length of the region.
    ///   - result: the pixels of the result, at least 1.
    init(source: Int, start: Double, extent: Double, result: Int) {
        // A region that ends at a whole pixel but for an error of rounding does not take in the next one.
        let tolerance = 1e-6
        origin = min(source - 1, max(0, Int((start + tolerance).rounded(.down))))
        length = min(source, max(origin + 1, Int((start + extent - tolerance).rounded(.up)))) - origin
        let ratio = extent / Double(result)
        factor = ratio >= 6 ? min(1 << 16, Int(ratio / 3)) : 1
        first.reserveCapacity(result)
        places.reserveCapacity(result + 1)
        let step = ratio / Double(factor)
        let offset = (start - Double(origin)) / Double(factor)
        for index in 0..<result { addWeights(center: offset + (Double(index) + 0.5) * step, support: max(1, step)) }
    }

    private mutating func addWeights(center: Double, support: Double) {
        let begin = min(count - 1, max(0, Int(max(0, center - support + 0.5))))
        let end = min(count, max(begin + 1, Int(max(0, center + support + 0.5))))
        // The last averaged pixel may stand for fewer of the source, and counts as many.
        let last = Double(length - (count - 1) * factor) / Double(factor)
        let values = (begin..<end).map { max(0, 1 - abs(Double($0) + 0.5 - center) / support) * ($0 == count - 1 ? last : 1) }
        let sum = values.reduce(0, +)
        first.append(begin)
        // At the end of a region by rounding alone: the nearest pixel is all there is.
        weights += sum > 0 ? values.map { Float($0 / sum) } : values.indices.map { $0 == 0 ? 1 : 0 }
        places.append(weights.count)
        reach = max(reach, end - begin)
    }
}
