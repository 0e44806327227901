import Foundation
import Glibc

/// What the kernel counts for this process.
enum ProcessFigures {
    /// Processor time, of all threads.
    static var processorTime: Duration {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    /// The threads whose name begins so; all of them with an empty one.
    static func threads(named prefix: String = "") -> Int {
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
        guard !prefix.isEmpty else { return threads.count }
        return threads.count { thread in
            let name = FileManager.default.contents(atPath: "/proc/self/task/\(thread)/comm") ?? Data()
            return String(decoding: name, as: UTF8.self).hasPrefix(prefix)
        }
    }

    static var highestDescriptor: Int32 {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return names.compactMap { Int32($0) }.max() ?? 2
    }
}
