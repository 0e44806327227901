import Dispatch
import Synchronization

/// A closed loop: `inFlight` requests at a time, and as soon as one ends the next one starts.
public final class Workload: Sendable {
    /// What a request of the loop is, and what it reports.
    public enum Work: Sendable {
        /// The number of bytes.
        case get
        /// The number of elements decoded.
        case decode
        /// The status; the number of bytes in the file is no matter.
        case upload(path: String)
        /// The number of bytes, each request into a file of its own.
        case download(path: String)
    }

    private let client: any BenchClient
    private let work: Work
    private let url: String
    private let requests: Int
    private let expected: Int
    private let started = Atomic(0)
    private let finished = Atomic(0)
    private let done = DispatchSemaphore(value: 0)

    private init(_ client: any BenchClient, _ work: Work, _ url: String, requests: Int, expected: Int) {
        self.client = client
        self.work = work
        self.url = url
        self.requests = requests
        self.expected = expected
    }

    /// Returns when all requests have ended.
    public static func run(
        _ client: any BenchClient,
        _ work: Work = .get,
        door: Door,
        url: String,
        requests: Int,
        inFlight: Int,
        expected: Int
    ) {
        guard requests > 0 else { return }
        let workload = Workload(client, work, url, requests: requests, expected: expected)
        let lanes = min(inFlight, requests)
        switch (door, work) {
        case (.async, .get), (.async, .decode):
            Task.detached { await workload.runLanes(lanes) }
        // Files have one door: what is beside them costs nothing.
        case (.closure, _), (_, .upload), (_, .download):
            for _ in 0..<lanes { workload.startNext() }
        }
        workload.done.wait()
    }

    private func startNext() {
        let number = started.add(1, ordering: .relaxed).oldValue
        guard number < requests else { return }
        call(number) { result in
            self.check(result)
            self.startNext()
            if self.finished.add(1, ordering: .acquiringAndReleasing).newValue == self.requests { self.done.signal() }
        }
    }

    private func call(_ number: Int, completion: @escaping @Sendable (Int) -> Void) {
        switch work {
        case .get: client.get(url, completion: completion)
        case .decode: client.items(url, completion: completion)
        case .upload(let path): client.upload(path, to: url, completion: completion)
        case .download(let path): client.download(url, to: "\(path).\(number)", completion: completion)
        }
    }

    private func call() async -> Int {
        switch work {
        case .get: await client.get(url)
        case .decode: await client.items(url)
        case .upload, .download: fail("no async door")
        }
    }

    private func runLanes(_ lanes: Int) async {
        await withDiscardingTaskGroup { group in
            for _ in 0..<lanes {
                group.addTask {
                    while self.started.add(1, ordering: .relaxed).oldValue < self.requests {
                        self.check(await self.call())
                    }
                }
            }
        }
        done.signal()
    }

    private func check(_ result: Int) {
        guard result == expected else { fail("\(url): \(result) instead of \(expected)") }
    }
}
