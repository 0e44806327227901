import Foundation
import ScopedNetImages

/// Hits and insertions of `ImageMemoryCache`, on one thread and on two.
struct MemoryCacheBench {
    let rounds: Int
    private let count = 200_000

    func run() throws {
        let keys = (0..<1_000).map {
            ImageKey(url: "https://images.example.test/photos/2026/11/\($0)/picture.jpg?w=256", size: PixelSize(256, 192))
        }
        let (cache, images) = (ImageMemoryCache(), keys.map { _ in picture() })
        for (key, image) in zip(keys, images) { cache.insert(image, for: key) }
        let samples = try Rounds(
            rounds,
            [
                { perCall { hit(cache, keys) } },
                { insertNew(keys) },
                { perCall(threads: 2) { hit(cache, keys) } },
                { perCall(threads: 2) { replace(cache, images, keys) } },
            ])
        ReportRow("memory, hit", "ImageMemoryCache, 1,000 pictures, URLs of 66 bytes; the least of all rounds", figure(samples, 0))
            .bar("200 ns", samples.least(0), most: 0.2).report()
        ReportRow("memory, insert", "new pictures, with sweeps and the freeing of pictures", figure(samples, 1))
            .bar("1 µs", samples.least(1), most: 1).report()
        ReportRow("memory, hit, two threads", "wall time of a hit, each thread, one cache", figure(samples, 2)).report()
        ReportRow("memory, replace, two threads", "wall time of an insert, each thread, one cache", figure(samples, 3)).report()
    }

    /// Other processes on the same core make calls of some nanoseconds slower by half: the least of all rounds is judged.
    private func figure(_ samples: Rounds, _ index: Int) -> String {
        "\(Form.time(samples.least(index))), median \(Form.time(samples.median(index)))"
    }

    private func picture() -> DecodedImage {
        guard let image = try? DecodedImage(width: 16, height: 12, fill: { _ in }) else { fail("no picture") }
        return image
    }

    /// Microseconds for each call; of one thread its processor time, of several the wall time.
    private func perCall(_ body: () -> Void) -> Double { Stopwatch.thread(body) / Double(count) }

    private func perCall(threads: Int, _ body: @Sendable () -> Void) -> Double {
        Stopwatch.wall { DispatchQueue.concurrentPerform(iterations: threads) { _ in body() } } / Double(count)
    }

    private func hit(_ cache: ImageMemoryCache, _ keys: [ImageKey]) {
        var found = 0
        for index in 0..<count where cache.hit(for: keys[index &* 7_919 % keys.count]) != nil { found += 1 }
        guard found == count else { fail("\(found) hits") }
    }

    /// New pictures, which nothing else keeps, into a cache for half of the keys: one that goes is freed, and now and then there is a sweep.
    private func insertNew(_ keys: [ImageKey]) -> Double {
        let cache = ImageMemoryCache(capacity: 384_000, preferredUsage: 230_400)
        var images = (0..<count / 4).map { _ in picture() }
        let all = images.count
        let time = Stopwatch.thread {
            while let image = images.popLast() { cache.insert(image, for: keys[images.count &* 7_919 % keys.count]) }
        }
        return time / Double(all)
    }

    private func replace(_ cache: ImageMemoryCache, _ images: [DecodedImage], _ keys: [ImageKey]) {
        for index in 0..<count {
            let place = index &* 7_919 % keys.count
            cache.insert(images[place], for: keys[place])
        }
    }
}
