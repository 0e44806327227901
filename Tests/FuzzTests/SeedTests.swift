import CleanSlate
import Foundation
import FuzzTargets
import Testing

/// A little of what libFuzzer does for hours (`Scripts/fuzz`), in every run: each target gets its seeds, and what chance makes of them. A broken
/// promise traps; the line before says which target had which number.
@Suite(.leavesNothing(objects: false), .serialized) struct SeedTests {
    private static let corpus = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Fuzz/Corpus")
    /// A twentieth of what `SCOPEDNET_SOAK=1` asks for.
    private static let rounds: Int = {
        #if DEBUG
        let rounds = 200
        #else
        let rounds = 2_000
        #endif
        return ProcessInfo.processInfo.environment["SCOPEDNET_SOAK"] == "1" ? 20 * rounds : rounds
    }()

    private static func seeds(_ target: String) throws -> [[UInt8]] {
        let folder = corpus.appending(path: target)
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        return try names.map { Array(try Data(contentsOf: folder.appending(path: $0))) }
    }

    @Test func eachTargetHasSeeds() throws {
        let folders = try FileManager.default.contentsOfDirectory(atPath: Self.corpus.path)
        #expect(Set(folders) == Set(targets.keys))
    }

    @Test(arguments: targets.keys.sorted()) func promisesHold(_ name: String) throws {
        let target = try #require(targets[name])
        let seeds = try Self.seeds(name)
        #expect(seeds.count >= 2)
        let number = ProcessInfo.processInfo.environment["SCOPEDNET_SEED"].flatMap { UInt64($0) } ?? .random(in: 0...UInt64.max)
        print("fuzz: \(name), \(Self.rounds) rounds, SCOPEDNET_SEED=\(number)")
        var mutator = Mutator(number, seeds)
        for seed in seeds { seed.withUnsafeBytes(target) }
        for _ in 0..<Self.rounds { mutator.next().withUnsafeBytes(target) }
    }
}
