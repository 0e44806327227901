import CleanSlate
import FoundationEssentials
import Glibc
import SystemSupport
import Testing

@testable import ScopedNetImages

/// Pictures in memory (IMC-1, IMC-2, IMC-3, IMC-4, defect 45): bounded, swept by last use, fresh or stale.
@Suite(.leavesNothing, .timeLimit(.minutes(3))) struct ImageMemoryCacheTests {
    private func image(bytes: Int) throws -> DecodedImage { try DecodedImage(width: bytes / 4, height: 1) { _ in } }
    private func key(_ number: Int) -> ImageKey { ImageKey(url: "http://images.test/\(number)") }

    /// IMC-1: above its capacity it is swept down to the preferred usage, those first that were not used for longest.
    @Test func itIsSweptByLastUse() throws {
        let cache = ImageMemoryCache(capacity: 1_000, preferredUsage: 600)
        for number in 0..<10 { #expect(cache.insert(try image(bytes: 100), for: key(number))) }
        #expect(cache.usage == 1_000 && cache.count == 10)
        // A use keeps it.
        #expect(cache.hit(for: key(0)) != nil)
        cache.insert(try image(bytes: 100), for: key(10))
        #expect(cache.usage == 600)
        #expect((0...10).filter { cache.hit(for: key($0)) != nil } == [0, 6, 7, 8, 9, 10])
    }

    /// AFNetworking 3659: the memory stayed full while its program was in the background; it can be trimmed. IMC-2: what takes the place of another is
    /// counted once, and a removal says whether there was anything.
    @Test func costsAreThoseOfWhatIsThere() throws {
        let cache = ImageMemoryCache(capacity: 1_000, preferredUsage: 600)
        cache.insert(try image(bytes: 100), for: key(1))
        cache.insert(try image(bytes: 40), for: key(1))
        #expect(cache.usage == 40 && cache.count == 1)
        #expect(cache.remove(key(1)) && !cache.remove(key(1)))
        cache.insert(try image(bytes: 40), for: key(1))
        cache.insert(try image(bytes: 40), for: key(2))
        cache.trim(to: 40)
        #expect(cache.hit(for: key(1)) == nil && cache.hit(for: key(2)) != nil)
        cache.removeAll()
        #expect(cache.usage == 0 && cache.count == 0)
    }

    /// One that is larger than the cache pushed out everything, and itself; large ones pushed out the thumbnails (AFNetworking 4010).
    @Test func aLargeOneIsNotKept() throws {
        let cache = ImageMemoryCache(capacity: 1_000, preferredUsage: 600)
        cache.insert(try image(bytes: 100), for: key(1))
        #expect(!cache.insert(try image(bytes: 104), for: key(2)))
        #expect(cache.hit(for: key(1)) != nil && cache.hit(for: key(2)) == nil)
        // The old one is not the picture any more.
        #expect(!cache.insert(try image(bytes: 104), for: key(1)))
        #expect(cache.hit(for: key(1)) == nil && cache.usage == 0)
    }

    /// URL and variant were joined without anything between them.
    @Test func keysDoNotCollide() throws {
        let cache = ImageMemoryCache()
        let keys = [
            ImageKey(url: "http://a/b", variant: "c"), ImageKey(url: "http://a/", variant: "bc"), ImageKey(url: "http://a/bc"),
            ImageKey(url: "http://a/bc", size: PixelSize(width: 1, height: 2)),
            ImageKey(url: "http://a/bc", size: PixelSize(width: 2, height: 1)),
        ]
        for (index, key) in keys.enumerated() { cache.insert(try image(bytes: 4 * (index + 1)), for: key) }
        #expect(keys.map { cache.hit(for: $0)?.image.width } == [1, 2, 3, 4, 5])
        #expect(Set(keys).count == 5 && keys[0] == ImageKey(url: "http://a/b", variant: "c"))
    }

    /// AlamofireImage 135: long URLs were hashed with each look, and lists scrolled slowly. A key is hashed when it is made, and feeds that number.
    @Test func aLongURLIsHashedOnce() throws {
        let key = ImageKey(url: "http://images.test/a?" + String(repeating: "width=400&", count: 10_000))
        let number = try #require(Mirror(reflecting: key).children.first { $0.label == "hash" }?.value as? Int)
        #expect(key.hashValue == number.hashValue)
        let cache = ImageMemoryCache()
        cache.insert(try image(bytes: 4), for: key)
        #expect(cache.hit(for: key) != nil && cache.hit(for: ImageKey(url: key.url + "x")) == nil)
    }

    @Test func aStalePictureSaysSo() throws {
        let now = Lock(ContinuousClock.now)
        let cache = ImageMemoryCache { now.withLock { $0 } }
        cache.insert(try image(bytes: 4), for: key(1), freshUntil: now.withLock { $0 + .seconds(60) })
        cache.insert(try image(bytes: 4), for: key(2))
        #expect(cache.hit(for: key(1))?.isFresh == true)
        now.withLock { $0 += .seconds(60) }
        #expect(cache.hit(for: key(1))?.isFresh == false && cache.hit(for: key(2))?.isFresh == true)
    }

    /// Against a list that is searched from end to end.
    @Test func theListIsAList() {
        var random = SplitMix(state: 7)
        var list = RecencyList<Int, Int>()
        var model: [(key: Int, value: Int, cost: Int)] = []
        for step in 0..<20_000 {
            let key = Int(random.next() % 40)
            switch random.next() % 10 {
            case 0..<4:
                let cost = Int(random.next() % 50)
                let old = model.firstIndex { $0.key == key }.map { model.remove(at: $0).value }
                #expect(list.put(step, cost: cost, for: key) == old)
                model.append((key, step, cost))
            case 4..<8:
                let found = model.firstIndex { $0.key == key }.map { model.remove(at: $0) }
                if let found { model.append(found) }
                #expect(list.use(key) == found?.value)
            case 8: #expect(list.remove(key) == model.firstIndex { $0.key == key }.map { model.remove(at: $0).value })
            default:
                let most = Int(random.next() % 800)
                var gone: [Int] = []
                while model.reduce(0, { $0 + $1.cost }) > most { gone.append(model.removeFirst().value) }
                #expect(list.trim(to: most) == gone)
            }
            #expect(list.count == model.count && list.cost == model.reduce(0) { $0 + $1.cost })
        }
        #expect(list.keys == model.map(\.key))
    }

    /// Pixels are freed with the last picture that has them, and not before.
    @Test func picturesShareTheirPixels() throws {
        let image = try DecodedImage(width: 2, height: 2) { bytes in for index in bytes.indices { bytes[index] = UInt8(index) } }
        let copy = image
        #expect(copy.withPixels { Array($0) } == Array(0..<16) && image.byteCount == 16)
        #expect(image.withPixels { $0.baseAddress } == copy.withPixels { $0.baseAddress })
        #expect(throws: ImageError.self) { try DecodedImage(width: 1 << 20, height: 1 << 20) { _ in } }
        struct Broken: Error {}
        #expect(throws: Broken.self) { try DecodedImage(width: 1, height: 1) { _ in throw Broken() } }
    }

    /// AFNetworking 3659: it kept its pictures when the machine was short of memory. IMC-4: emptied within 50 ms of the word of the service manager, here
    /// through a FIFO.
    @Test func pressureEmptiesIt() async throws {
        let path = "/tmp/scopednet-pressure-\(UInt64.random(in: 0 ... .max))"
        #expect(mkfifo(path, 0o600) == 0)
        defer { unlink(path) }
        let cache = ImageMemoryCache()
        cache.insert(try image(bytes: 100), for: key(1))
        let relief = MemoryRelief(environment: ["MEMORY_PRESSURE_WATCH": path]) { cache.removeAll() }
        let descriptor = open(path, O_WRONLY | O_CLOEXEC)
        defer { close(descriptor) }
        #expect(descriptor >= 0 && write(descriptor, "!", 1) == 1)
        let began = ContinuousClock.now
        while cache.count > 0 { try await Task.sleep(for: .milliseconds(1)) }
        print("emptied \(ContinuousClock.now - began) after the event")
        withExtendedLifetime(relief) {}
    }
}
