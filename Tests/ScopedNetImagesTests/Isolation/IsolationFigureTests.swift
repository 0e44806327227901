#if Images
import CleanSlate
import FoundationEssentials
import Testing

@testable import ScopedNetImages

extension IsolationTests {
    /// The times of isolated decoding beside those in process. They are printed, and judged by a wide margin alone, as tests share the
    /// machine.
    @Suite(.leavesNothing, .onOwnThread, .timeLimit(.minutes(3))) struct IsolationFigureTests {
        typealias I = IsolationSamples
        typealias S = CodecSamples

        private func median(of count: Int, _ body: () throws -> Void) rethrows -> Double {
            let clock = ContinuousClock()
            let times = try (0..<count).map { _ in
                let (seconds, attoseconds) = try clock.measure(body).components
                return Double(seconds) * 1e3 + Double(attoseconds) / 1e15
            }
            return times.sorted()[count / 2]
        }

        private func milliseconds(_ value: Double) -> String { "\((value * 1000).rounded() / 1000) ms" }

        @Test func theTimesOfAHelperAreReported() throws {
            let small = try S.file("baseline.jpg")
            let cold = try median(of: 21) { _ = try I.decode(small, by: I.decoder()) }
            let decoder = I.decoder()
            try decoder.prepare()
            let warm = try median(of: 101) { _ = try I.decode(small, by: decoder) }
            let inProcess = try median(of: 101) { _ = try S.decode(small) }
            print("a small JPEG: cold \(milliseconds(cold)), warm \(milliseconds(warm)), in process \(milliseconds(inProcess))")
            #expect(warm < cold)
        }

        @Test func theTimesOfLargePicturesAreReported() throws {
            let decoder = I.decoder()
            for (width, height, rounds) in [(200, 150, 41), (1_000, 1_000, 15), (4_000, 3_000, 5)] {
                let image = try S.image(width, height) { x, y in
                    [
                        UInt8(truncatingIfNeeded: x &* 3 ^ y), UInt8(truncatingIfNeeded: x / 4), UInt8(truncatingIfNeeded: y / 3 + x / 7),
                        255,
                    ]
                }
                let data = try JPEGEncoder().encode(image)
                let isolated = try median(of: rounds) { _ = try I.decode(data, by: decoder) }
                let inProcess = try median(of: rounds) { _ = try S.decode(data) }
                print("\(width)x\(height): isolated \(milliseconds(isolated)), in process \(milliseconds(inProcess))")
            }
        }
    }
}
#endif
