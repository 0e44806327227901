import Dispatch
import Synchronization

/// A closed loop: `inFlight` requests at a time, and as soon as one ends the next one starts.
public final class Workload: Sendable {
    private let client: any BenchClient
    private let url: String
    private let requests: Int
    private let expectedBytes: Int
    private let started = Atomic(0)
    private let finished = Atomic(0)
    private let done = DispatchSemaphore(value: 0)

    private init(client: any BenchClient, url: String, requests: Int, expectedBytes: Int) {
        self.client = client
        self.url = url
        self.requests = requests
        self.expectedBytes = expectedBytes
    }

    /// Returns when all requests have ended.
    public static func run(
        _ client: any BenchClient,
        door: Door,
        url: String,
        requests: Int,
        inFlight: Int,
        expectedBytes: Int
    ) {
        guard requests > 0 else { return }
        let workload = Workload(client: client, url: url, requests: requests, expectedBytes: expectedBytes)
        let lanes = min(inFlight, requests)
        switch door {
        case .closure:
            for _ in 0..<lanes { workload.startNext() }
        case .async:
            Task.detached { await workload.runLanes(lanes) }
        }
        workload.done.wait()
    }

    private func startNext() {
        guard started.add(1, ordering: .relaxed).oldValue < requests else { return }
        client.get(url) { bytes in
            self.check(bytes)
            self.startNext()
            if self.finished.add(1, ordering: .acquiringAndReleasing).newValue == self.requests { self.done.signal() }
        }
    }

    private func runLanes(_ lanes: Int) async {
        await withDiscardingTaskGroup { group in
            for _ in 0..<lanes {
                group.addTask {
                    while self.started.add(1, ordering: .relaxed).oldValue < self.requests {
                        self.check(await self.client.get(self.url))
                    }
                }
            }
        }
        done.signal()
    }

    private func check(_ bytes: Int) {
        guard bytes == expectedBytes else { fail("\(url): \(bytes) bytes instead of \(expectedBytes)") }
    }
}
